import type { DataplaneStatus } from "../status.ts";
import type { Running } from "./running.ts";

type Counters = DataplaneStatus["counters"];
type OwnCounters = Pick<
  Counters,
  "messages" | "applies" | "applyFailures" | "routeWrites" | "lastApplyMs" | "firstApplyMs"
>;

/** The numbers of a status: those that the loop keeps itself, and those of its parts once there are any. */
export function statusCounters(
  own: OwnCounters,
  drift: Pick<Counters["drift"], "route" | "neighbour" | "device" | "sysctl">,
  running: Pick<Running, "programmer" | "state"> | undefined,
): Counters {
  const { programmer, state } = running ?? {};
  const [ip, ip6] = state === undefined ? [] : [...state.ruleset.tables.values()].map((table) => table.counts());
  return {
    ...own,
    applyFailures: own.applyFailures + (programmer?.counters.failures ?? 0),
    nftTransactions: programmer?.counters.transactions ?? 0,
    nftReads: programmer?.counters.reads ?? 0,
    drift: { chain: 0, set: 0, map: 0, ...programmer?.counters.drift, ...drift },
    chains: { ip: ip?.chains ?? 0, ip6: ip6?.chains ?? 0 },
    rules: { ip: ip?.rules ?? 0, ip6: ip6?.rules ?? 0 },
    sets: { ip: ip?.sets ?? 0, ip6: ip6?.sets ?? 0 },
    routes: state?.routes.counts() ?? { ip: 0, ip6: 0 },
    flowtableDevices: state?.offload.counts() ?? { present: 0, missing: 0 },
  };
}
