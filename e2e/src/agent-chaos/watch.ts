import { request } from "node:http";
import { messageOf } from "@bulrush/base";
import type { Traffic, TrafficReport } from "../lab/traffic.ts";
import { adminSocket } from "./world.ts";

/** The parts of the agent's drift report that matter here. */
export interface DriftItem {
  readonly kind: "table" | "chain" | "set" | "map" | "route" | "neighbour" | "device";
  readonly name: string;
  readonly what: "missing" | "unknown" | "changed";
}

interface DriftReport {
  readonly ready: boolean;
  readonly pending: boolean;
  readonly differences: readonly DriftItem[];
  readonly repairs: readonly { readonly atMs: number; readonly items: readonly DriftItem[] }[];
}

/** What is waited for may take this long on a machine that is busy with other things. */
const PATIENCE_MS = 180_000;
/** Packets of each flow that make a statement about it. */
const PROOF = 25;

/** Asks until the answer is there. Throws what was waited for. */
export async function waitFor<T>(what: string, ask: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  let last = "";
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
    } catch (error) {
      last = ` (${messageOf(error)})`;
    }
    if (performance.now() > deadlineMs) throw new Error(`Waited in vain until ${what}${last}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** What the agent of a host says of its kernel; throws while it does not answer. */
function askDrift(host: string): Promise<DriftReport> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: adminSocket(host), path: "/api/v1/drift", agent: false }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      answer.on("error", reject);
      answer.on("end", () => {
        if (answer.statusCode === 200) resolve(JSON.parse(text) as DriftReport);
        else reject(new Error(`${answer.statusCode ?? 0}: ${text.trim()}`));
      });
    });
    call.on("error", reject);
    call.end();
  });
}

/** Waits until the agent finds nothing that is other than meant. */
export async function untilWhole(host: string): Promise<void> {
  let left: readonly DriftItem[] = [];
  try {
    await waitFor(`the kernel of ${host} is as meant`, async () => {
      const { differences, pending, ready } = await askDrift(host);
      left = differences;
      return ready && !pending && differences.length === 0 ? true : undefined;
    });
  } catch (error) {
    throw new Error(`${messageOf(error)}: ${JSON.stringify(left.slice(0, 5))}`);
  }
}

/** Waits until the agent reports that it repaired something like this since `sinceMs` (Unix). */
export async function untilReported(
  host: string,
  sinceMs: number,
  matches: (item: DriftItem) => boolean,
): Promise<void> {
  await waitFor(`${host} reports the repair`, async () => {
    const { repairs } = await askDrift(host);
    return repairs.some(({ atMs, items }) => atMs >= sinceMs && items.some(matches)) ? true : undefined;
  });
}

/**
 * Waits until every flow has sent enough since the last reset, and what must get through did so; throws when something
 * got through that must not.
 */
export async function proveTraffic(traffic: Traffic, what: string): Promise<void> {
  let stuck: TrafficReport | undefined;
  try {
    await waitFor("allowed traffic flows", () => {
      stuck = traffic
        .report()
        .find(({ delivered, name, sent }) => (name.startsWith("friend") ? delivered : sent) < PROOF);
      return stuck === undefined ? true : undefined;
    });
  } catch (error) {
    throw new Error(`${what}: ${messageOf(error)}: ${JSON.stringify(stuck)}`);
  }
  proveClosed(traffic.report(), what);
}

/** Throws when something got through that must not. */
export function proveClosed(reports: readonly TrafficReport[], what: string): void {
  for (const { delivered, name, sent } of reports)
    if (name.startsWith("stranger") && delivered > 0)
      throw new Error(`${what}: ${delivered} of ${sent} got through on '${name}', which is denied`);
}

/** Lets attempts end that were made while the rules were gone, then forgets them. */
export async function settleTraffic(traffic: Traffic): Promise<void> {
  traffic.reset();
  await waitFor("old attempts are over", () =>
    traffic.report().every(({ name, sent }) => !/connects|clings/.test(name) || sent > 60) ? true : undefined,
  );
  traffic.reset();
}
