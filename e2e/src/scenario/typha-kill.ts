import { until } from "./agent-kill.ts";
import { checkTraffic, nftGeneration, startGuardedTraffic, startGuardedWorld } from "./guarded-world.ts";
import type { Scenario } from "./scenario.ts";

const HOSTS = ["host-a", "host-b"] as const;
/** The traffic itself pauses where the machine does much else. */
const MAX_GAP_MS = 5000;

export const typhaKill: Scenario = {
  name: "typha-kill",
  summary: "Typha killed during traffic: agents keep enforcing, reconnect, and write nothing when nothing changed",
  async run({ quick, progress }) {
    const rounds = quick ? 2 : 10;
    const session = await startGuardedWorld();
    let longestGapMs = 0;
    try {
      const traffic = await startGuardedTraffic(session);
      const before = HOSTS.map((host) => nftGeneration(session, host));
      for (let round = 1; round <= rounds; round++) {
        traffic.reset();
        await session.cluster.typha.stop("SIGKILL");
        await until(() => traffic.report().every(({ sent }) => sent > 30));
        for (const host of HOSTS)
          if (!session.cluster.agent(host).isRunning)
            throw new Error(`${session.cluster.logs()}\nThe agent on ${host} ended with Typha`);
        session.cluster.startTypha();
        await session.refresh();
        const found = checkTraffic(traffic.report(), "While Typha was away and came back", MAX_GAP_MS);
        longestGapMs = Math.max(longestGapMs, found.longestGapMs);
        const after = HOSTS.map((host) => nftGeneration(session, host));
        if (after.join() !== before.join())
          throw new Error(
            `A reconnect wrote to nf_tables: generations ${before.join(", ")} became ${after.join(", ")}`,
          );
        progress(`round ${round} of ${rounds}: agents reconnected, longest pause ${longestGapMs} ms`);
      }
      await traffic.stop();
    } finally {
      await session.stop();
    }
    return { rounds, leaked: 0, longestGapMs, kernelWrites: 0 };
  },
};
