import { systemClock } from "@bulrush/base";
import { Transaction } from "@bulrush/nftables";
import type { ToDataplane } from "@bulrush/proto";
import { openHostKernel } from "../src/kernel/host-kernel.ts";
import { createDataplane } from "../src/loop/dataplane.ts";
import { type BenchOptions, digits, percentile } from "./row.ts";
import { endpoint, member, policy, world } from "./world.ts";

const SIZES = { sets: 1000, members: 100, policies: 1000 } as const;
const POLICIES_EACH = 10;
const CHANGES_A_SECOND = 1000;
const TICK_MS = 20;

/**
 * A cluster that does not come to rest: a thousand changes a second (of ten, eight of one member, one of a policy, one of
 * an endpoint) on a host with 10,000 rules. How long each takes to the commit, and what share of a core it costs. Applies
 * are ten a second, so that most changes wait for the next one.
 */
export async function churn({ print, quick }: BenchOptions): Promise<void> {
  const kernel = openHostKernel();
  const sentMs: number[] = [];
  const tookMs: number[] = [];
  let waiting: (() => void) | undefined;
  let done = -1;
  const dataplane = createDataplane({
    settings: new Map([["Ipv6Support", "false"]]),
    kernel,
    clock: systemClock({ keepAlive: true }),
    random: Math.random,
    events: {
      onApplied: (sequence) => {
        const nowMs = performance.now();
        for (; done < sequence; done++) tookMs.push(nowMs - (sentMs[done + 1] ?? nowMs));
        waiting?.();
      },
      onFatal: (error) => {
        throw error;
      },
    },
  });
  const applied = async (sequence: number): Promise<void> => {
    while (done < sequence) await new Promise<void>((resolve) => (waiting = resolve));
  };
  let sequence = 0;
  const send = async (messages: readonly ToDataplane[]): Promise<void> => {
    sentMs[sequence] = performance.now();
    await dataplane.send(messages);
    dataplane.mark(sequence++);
  };
  await send([...world(SIZES, POLICIES_EACH), { msg: "InSync" }]);
  await applied(0);
  tookMs.length = 0;
  const seconds = quick ? 5 : 20;
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  let change = 0;
  let most = 0;
  while (change < seconds * CHANGES_A_SECOND) {
    const due = Math.min(seconds * CHANGES_A_SECOND, ((performance.now() - startMs) * CHANGES_A_SECOND) / 1000);
    const messages: ToDataplane[] = [];
    for (; change < due; change++) messages.push(changeOf(change));
    most = Math.max(most, messages.length);
    if (messages.length > 0) await send(messages);
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  await applied(sequence - 1);
  const { system, user } = process.cpuUsage(cpu);
  const wallMs = performance.now() - startMs;
  await dataplane.stop();
  kernel.nft.run(new Transaction().deleteTable({ family: "ip", name: "calico" }));
  kernel.close();
  const base = { bench: "churn", case: { changes: `${CHANGES_A_SECOND}/s`, seconds } } as const;
  print({ ...base, metric: "CPU share", value: digits((user + system) / 1000 / wallMs), unit: "cores" });
  print({ ...base, metric: "change to commit, median", value: digits(percentile(tookMs, 0.5)), unit: "ms" });
  print({ ...base, metric: "change to commit, p99", value: digits(percentile(tookMs, 0.99)), unit: "ms" });
  print({ ...base, metric: "most changes in one send", value: most, unit: "changes" });
}

function changeOf(change: number): ToDataplane {
  const kind = change % 10;
  if (kind === 0) return policy(change % SIZES.policies, SIZES.sets, 1 + (change % 7));
  if (kind === 1) {
    const first = (change * POLICIES_EACH) % SIZES.policies;
    return endpoint(
      POLICIES_EACH,
      Math.floor((change * POLICIES_EACH) / SIZES.policies) % 2 === 0 ? "Pass" : "Deny",
      first - (first % POLICIES_EACH),
    );
  }
  const set = change % SIZES.sets;
  const one = [member(set, 200)];
  const added = Math.floor(change / SIZES.sets) % 2 === 0;
  return {
    msg: "IPSetDeltaUpdate",
    id: `s:${set}`,
    added_members: added ? one : [],
    removed_members: added ? [] : one,
  };
}
