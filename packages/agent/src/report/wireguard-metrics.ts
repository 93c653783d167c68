import type { readWireguardDevices } from "@bulrush/dataplane";
import type { Logger, Metrics } from "@bulrush/service";
import type { FelixConfig } from "../config/felix-config.ts";

type Settings = Pick<
  FelixConfig,
  | "FelixHostname"
  | "PrometheusWireGuardMetricsEnabled"
  | "WireguardEnabled"
  | "WireguardEnabledV6"
  | "WireguardInterfaceName"
  | "WireguardInterfaceNameV6"
>;

export interface WireguardMetricsOptions {
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** The settings of the moment. */
  readonly settings: () => Settings;
  readonly readDevices: typeof readWireguardDevices;
}

const PEER_METRICS = {
  wireguard_latest_handshake_seconds: {
    help: "When the last handshake with the peer was, in seconds since 1970",
    value: ({ lastHandshakeSeconds }: Peer) => lastHandshakeSeconds,
  },
  wireguard_bytes_sent: { help: "Bytes sent to the peer", value: ({ sentBytes }: Peer) => Number(sentBytes) },
  wireguard_bytes_rcvd: {
    help: "Bytes received from the peer",
    value: ({ receivedBytes }: Peer) => Number(receivedBytes),
  },
} as const;

type Device = ReturnType<typeof readWireguardDevices>[number];
type Peer = Device["peers"][number];

/** Registers what the kernel tells of WireGuard's devices and peers, read whenever the page is asked for. */
export function registerWireguardMetrics({ logger, metrics, readDevices, settings }: WireguardMetricsOptions): void {
  let devices: readonly Device[] = [];
  // Asked for first: all of one page come from one reading.
  const refresh = (): void => {
    const now = settings();
    const names = [
      ...(now.WireguardEnabled ? [now.WireguardInterfaceName] : []),
      ...(now.WireguardEnabledV6 ? [now.WireguardInterfaceNameV6] : []),
    ];
    try {
      devices = now.PrometheusWireGuardMetricsEnabled && names.length > 0 ? readDevices(names) : [];
    } catch (error) {
      logger.warn("Read WireGuard", { error });
      devices = [];
    }
  };
  const deviceLabels = ["hostname", "public_key", "iface", "listen_port"] as const;
  metrics.gaugeFamilyFrom({ name: "wireguard_meta", help: "Devices of WireGuard", labels: deviceLabels }, () => {
    refresh();
    return devices.map(({ name, port, publicKey = "" }) => [
      { hostname: settings().FelixHostname, public_key: publicKey, iface: name, listen_port: String(port) },
      1,
    ]);
  });
  const labels = ["hostname", "public_key", "peer_key", "peer_endpoint"] as const;
  for (const [name, { help, value }] of Object.entries(PEER_METRICS))
    metrics.gaugeFamilyFrom({ name, help, labels }, () =>
      devices.flatMap(({ peers, publicKey = "" }) =>
        peers.map(
          (peer) =>
            [
              {
                hostname: settings().FelixHostname,
                public_key: publicKey,
                peer_key: peer.publicKey,
                peer_endpoint: peer.endpoint ?? "",
              },
              value(peer),
            ] as const,
        ),
      ),
    );
}
