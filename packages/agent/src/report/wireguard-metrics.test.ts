import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, memoryLogger } from "@bulrush/service";
import { registerWireguardMetrics } from "./wireguard-metrics.ts";

const SETTINGS = {
  FelixHostname: "oak",
  PrometheusWireGuardMetricsEnabled: true,
  WireguardEnabled: true,
  WireguardEnabledV6: false,
  WireguardInterfaceName: "wireguard.cali",
  WireguardInterfaceNameV6: "wg-v6.cali",
};

const DEVICE = {
  index: 7,
  name: "wireguard.cali",
  publicKey: "OWN",
  port: 51820,
  mark: 1,
  peers: [
    {
      publicKey: "ELM",
      endpoint: "192.0.2.2:51820",
      allowedIps: [],
      keepaliveSeconds: 0,
      lastHandshakeSeconds: 1_700_000_000,
      receivedBytes: 5n,
      sentBytes: 6n,
    },
  ],
} as const;

function rig(settings: Partial<typeof SETTINGS> = {}, fails = false) {
  const metrics = createMetrics();
  const logger = memoryLogger();
  const asked: string[][] = [];
  registerWireguardMetrics({
    metrics,
    logger,
    settings: () => ({ ...SETTINGS, ...settings }),
    readDevices(names) {
      asked.push([...names]);
      if (fails) throw new Error("no socket");
      return [DEVICE];
    },
  });
  const samples = async (): Promise<string[]> =>
    (await metrics.text()).split("\n").filter((line) => line.startsWith("wireguard_"));
  return { asked, logger, samples };
}

test("the page has WireGuard's device and peers, from one reading", async () => {
  const { asked, samples } = rig();
  const device = 'hostname="oak",public_key="OWN"';
  const peer = `{${device},peer_key="ELM",peer_endpoint="192.0.2.2:51820"}`;
  assert.deepEqual(await samples(), [
    `wireguard_meta{${device},iface="wireguard.cali",listen_port="51820"} 1`,
    `wireguard_latest_handshake_seconds${peer} 1700000000`,
    `wireguard_bytes_sent${peer} 6`,
    `wireguard_bytes_rcvd${peer} 5`,
  ]);
  assert.deepEqual(asked, [["wireguard.cali"]]);
});

test("nothing is read where WireGuard or its metrics are off", async () => {
  for (const off of [{ WireguardEnabled: false }, { PrometheusWireGuardMetricsEnabled: false }]) {
    const { asked, samples } = rig(off);
    assert.deepEqual([await samples(), asked], [[], []]);
  }
});

test("the page comes without them when the kernel cannot be read", async () => {
  const { logger, samples } = rig({}, true);
  assert.deepEqual(await samples(), []);
  assert.deepEqual(
    logger.records.map(({ message }) => message),
    ["Read WireGuard"],
  );
});
