import { busiest, readRuleCounters } from "@bulrush/dataplane";
import { type NftConnection, openNftConnection } from "@bulrush/nftables";
import type { Logger, Metrics } from "@bulrush/service";

/** Rules on the page; more become one "(others)" a direction. */
const MAX_RULES = 1000;

/**
 * Registers what each rule has counted, read from the kernel whenever the page is asked for. A page without it when the
 * kernel cannot be read. Gives the way to close the connection.
 */
export function registerRuleMetrics(metrics: Metrics, logger: Logger): () => void {
  let nft: NftConnection | undefined;
  let read: { readonly counters: ReturnType<typeof busiest> } = { counters: [] };
  // Packets are asked for first: both families of one page come from one reading.
  const refresh = (): void => {
    try {
      nft ??= openNftConnection();
      read = { counters: busiest(readRuleCounters(nft), MAX_RULES) };
    } catch (error) {
      logger.warn("Read rule counters", { error });
      read = { counters: [] };
    }
  };
  const labels = ["tier", "policy", "direction", "rule"] as const;
  for (const what of ["packets", "bytes"] as const)
    metrics.counterFamilyFrom(
      { name: `bulrush_rule_${what}_total`, help: `Rules of policies and profiles: ${what} seen`, labels },
      () => {
        if (what === "packets") refresh();
        return read.counters.map(
          ({ direction, policy, rule, tier, ...values }) =>
            [{ tier, policy, direction, rule }, Number(values[what])] as const,
        );
      },
    );
  return () => nft?.close();
}
