import type { Clock } from "@bulrush/base";
import { publishWireguardKey, reconcileTunnelAddresses, takeOverAddress } from "@bulrush/datastore";
import type { Logger, Metrics } from "@bulrush/service";
import type { FelixConfig } from "../config/felix-config.ts";
import { datastoreOf, withDatastoreWriter } from "../source/datastore-writer.ts";
import { WireguardKeys } from "./wireguard-keys.ts";
import { MachineArrivals } from "./machine-arrivals.ts";
import { TunnelAddresses } from "./tunnel-addresses.ts";

/** Of one comparison with the pools, waiting for others that write the same records included. */
const LIMIT_MS = 120_000;

/** Of one write of a key, or of the owner of an address. */
const WRITE_LIMIT_MS = 30_000;

/** {@link WireguardKeys} on the datastore that the settings name. It is opened only when there is a key to tell. */
export function wireguardKeys(options: {
  readonly config: FelixConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
}): WireguardKeys {
  const { clock, config, env, logger } = options;
  return new WireguardKeys({
    clock,
    random: Math.random,
    logger,
    publish: async (family, publicKey) =>
      withDatastoreWriter(datastoreOf(config, env), { clock, limitMs: WRITE_LIMIT_MS }, (writer, signal) =>
        publishWireguardKey(writer, { node: config.FelixHostname, family, publicKey, signal }),
      ),
  });
}

/** {@link MachineArrivals} on the datastore that the settings name. It is opened only when a machine has come. */
export function machineArrivals(options: {
  readonly config: FelixConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
}): MachineArrivals {
  const { clock, config, env, logger } = options;
  return new MachineArrivals({
    clock,
    random: Math.random,
    logger,
    async takeOver(address, pod) {
      const datastore = datastoreOf(config, env);
      // Addresses out of the networks of nodes have no owners.
      if (datastore.usePodCIDR === true) return false;
      return withDatastoreWriter(datastore, { clock, limitMs: WRITE_LIMIT_MS }, (writer, signal) =>
        takeOverAddress(writer, { address, pod, signal }),
      );
    },
  });
}

/** {@link TunnelAddresses} on the datastore that the settings name. With USE_POD_CIDR it has nothing to do. */
export function tunnelAddresses(options: {
  readonly config: FelixConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}): TunnelAddresses {
  const { clock, config, env, logger, metrics } = options;
  let wireguardHostEncryption = config.WireguardHostEncryptionEnabled;
  return new TunnelAddresses({
    onSettings(now) {
      const isOther = now.WireguardHostEncryptionEnabled !== wireguardHostEncryption;
      wireguardHostEncryption = now.WireguardHostEncryptionEnabled;
      return isOther;
    },
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
          wireguardHostEncryption,
        }),
      );
    },
  });
}
