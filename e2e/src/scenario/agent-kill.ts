import { checkTraffic, nftGeneration, startGuardedTraffic, startGuardedWorld } from "./guarded-world.ts";
import type { Scenario } from "./scenario.ts";

/** The traffic itself pauses where the machine does much else; that the kernel was not written to is looked at beside it. */
const MAX_GAP_MS = 5000;

export const agentKill: Scenario = {
  name: "agent-kill",
  summary: "agents killed during traffic: the kernel goes on; a restart adopts it without an unfiltered moment",
  async run({ quick, progress }) {
    const rounds = quick ? 2 : 10;
    const session = await startGuardedWorld();
    let longestGapMs = 0;
    try {
      const traffic = await startGuardedTraffic(session);
      for (let round = 1; round <= rounds; round++) {
        const before = ["host-a", "host-b"].map((host) => nftGeneration(session, host));
        traffic.reset();
        await Promise.all(["host-a", "host-b"].map((host) => session.cluster.agent(host).stop("SIGKILL")));
        // New connections and datagrams keep coming while nobody is there: wait for a good number of them.
        await until(() => traffic.report().every(({ sent }) => sent > 30));
        ({ longestGapMs } = longest(
          longestGapMs,
          checkTraffic(traffic.report(), "While the agents were dead", MAX_GAP_MS),
        ));
        traffic.reset();
        for (const host of ["host-a", "host-b"]) session.cluster.startAgent(host);
        await session.refresh();
        await until(() => traffic.report().every(({ sent }) => sent > 30));
        ({ longestGapMs } = longest(
          longestGapMs,
          checkTraffic(traffic.report(), "While the agents restarted", MAX_GAP_MS),
        ));
        const after = ["host-a", "host-b"].map((host) => nftGeneration(session, host));
        if (after.join() !== before.join())
          throw new Error(
            `The restart wrote to nf_tables: generations ${before.join(", ")} became ${after.join(", ")}`,
          );
        progress(`round ${round} of ${rounds}: no packet leaked, longest pause ${longestGapMs} ms`);
      }
      await traffic.stop();
    } finally {
      await session.stop();
    }
    return { rounds, leaked: 0, longestGapMs, kernelWritesAtRestart: 0 };
  },
};

function longest(known: number, found: { readonly longestGapMs: number }): { longestGapMs: number } {
  return { longestGapMs: Math.max(known, found.longestGapMs) };
}

/** Waits until something holds. The caller's traffic is what makes it hold. */
export async function until(condition: () => boolean, timeoutMs = 240_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error("What was waited for did not come");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
