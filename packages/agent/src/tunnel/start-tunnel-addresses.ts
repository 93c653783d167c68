import type { Clock } from "@bulrush/base";
import { reconcileTunnelAddresses } from "@bulrush/datastore";
import type { Logger, Metrics } from "@bulrush/service";
import type { FelixConfig } from "../config/felix-config.ts";
import { datastoreOf, withDatastoreWriter } from "../source/datastore-writer.ts";
import { TunnelAddresses } from "./tunnel-addresses.ts";

/** Of one comparison with the pools, waiting for others that write the same records included. */
const LIMIT_MS = 120_000;

/** {@link TunnelAddresses} on the datastore that the settings name. With USE_POD_CIDR it has nothing to do. */
export function tunnelAddresses(options: {
  readonly config: FelixConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}): TunnelAddresses {
  const { clock, config, env, logger, metrics } = options;
  return new TunnelAddresses({
    hostname: config.FelixHostname,
    clock,
    random: Math.random,
    logger,
    metrics,
    async reconcile() {
      const datastore = datastoreOf(config, env);
      if (datastore.usePodCIDR === true) return [];
      return withDatastoreWriter(datastore, { clock, limitMs: LIMIT_MS }, (writer, signal) =>
        reconcileTunnelAddresses(writer, {
          node: config.FelixHostname,
          signal,
          now: () => clock.nowMs(),
          wireguardHostEncryption: config.WireguardHostEncryptionEnabled,
        }),
      );
    },
  });
}
