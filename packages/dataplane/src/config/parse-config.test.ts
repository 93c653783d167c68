import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseDataplaneConfig } from "./parse-config.ts";

const parse = (settings: Record<string, string>) => parseDataplaneConfig(new Map(Object.entries(settings)));

describe("parseDataplaneConfig()", () => {
  it("gives the documented defaults when nothing is set", () => {
    const { config, problems } = parse({});
    assert.deepEqual(problems, []);
    assert.deepEqual(config.interfacePrefixes, ["cali"]);
    assert.equal(config.endpointToHostAction, "DROP");
    assert.equal(config.filterAllowAction, "ACCEPT");
    assert.equal(config.denyAction, "DROP");
    assert.equal(config.ipv6Support, true);
    assert.equal(config.vxlanPort, 4789);
    assert.equal(config.deviceRouteProtocol, 3);
    assert.deepEqual(config.routePriority, { 4: 1024, 6: 1024 });
    assert.deepEqual(
      [config.nftablesRefreshMs, config.ipsetsRefreshMs, config.routeRefreshMs],
      [180_000, 90_000, 90_000],
    );
    assert.equal(config.logPrefix, "calico-packet");
    assert.equal(config.logRateLimit, undefined);
    assert.deepEqual(config.marks, {
      accept: 0x10000,
      pass: 0x20000,
      drop: 0x40000,
      scratch0: 0x80000,
      scratch1: 0x100000,
    });
  });

  it("has the failsafe ports of the reference system when none are set", () => {
    const { config } = parse({});
    const text = (ports: typeof config.failsafeInbound) => ports.map(({ port, protocol }) => `${protocol}:${port}`);
    assert.deepEqual(text(config.failsafeInbound), [
      "tcp:22",
      "tcp:179",
      "tcp:2379",
      "tcp:2380",
      "tcp:5473",
      "tcp:6443",
      "tcp:6666",
      "tcp:6667",
      "udp:68",
    ]);
    assert.deepEqual(
      new Set(text(config.failsafeOutbound)),
      new Set(["udp:53", "udp:67", "tcp:179", "tcp:2379", "tcp:2380", "tcp:5473", "tcp:6443", "tcp:6666", "tcp:6667"]),
    );
  });

  it("names WireGuard that RouteSyncDisabled keeps off, of either family", () => {
    const named = (settings: Record<string, string>): string[] => parse(settings).problems.map(({ name }) => name);
    assert.deepEqual(named({ RouteSyncDisabled: "true" }), []);
    assert.deepEqual(named({ WireguardEnabled: "true", WireguardEnabledV6: "true" }), []);
    assert.deepEqual(named({ RouteSyncDisabled: "true", WireguardEnabled: "true" }), ["WireguardEnabled"]);
    assert.deepEqual(named({ RouteSyncDisabled: "true", WireguardEnabledV6: "true" }), ["WireguardEnabledV6"]);
  });

  it("reads the DSCP of an ambient mesh by number and by name", () => {
    for (const [text, dscp] of [
      ["", 23],
      ["0", 0],
      ["63", 63],
      ["AF41", 34],
      ["none", 0],
    ] as const)
      assert.equal(parse({ IstioDSCPMark: text }).config.ambientDscp, dscp, text);
  });

  it("takes names and words in any case", () => {
    const { config, problems } = parse({ INTERFACEPREFIX: "cali, tap", defaultendpointtohostaction: "accept" });
    assert.deepEqual(problems, []);
    assert.deepEqual(config.interfacePrefixes, ["cali", "tap"]);
    assert.equal(config.endpointToHostAction, "ACCEPT");
  });

  it("hands out mark bits from the lowest bit of the mask", () => {
    assert.deepEqual(parse({ NftablesMarkMask: "0xf0000010" }).config.marks, {
      accept: 0x10,
      pass: 0x10000000,
      drop: 0x20000000,
      scratch0: 0x40000000,
      scratch1: 0x80000000,
    });
  });

  it("reads failsafe ports with networks, and an empty list from none", () => {
    const { config } = parse({
      FailsafeInboundHostPorts: "tcp:10.0.0.0/8:22, udp:68,443,tcp:[fd00::/8]:22",
      FailsafeOutboundHostPorts: "none",
    });
    assert.deepEqual(config.failsafeInbound, [
      { protocol: "tcp", port: 22, net: "10.0.0.0/8" },
      { protocol: "udp", port: 68 },
      { protocol: "tcp", port: 443 },
      { protocol: "tcp", port: 22, net: "fd00::/8" },
    ]);
    assert.deepEqual(config.failsafeOutbound, []);
  });

  const bad: readonly (readonly [name: string, text: string])[] = [
    ["InterfacePrefix", "has space"],
    ["NftablesMarkMask", "0xf"],
    ["NftablesMarkMask", "red"],
    ["DefaultEndpointToHostAction", "maybe"],
    ["VXLANPort", "70000"],
    ["Ipv6Support", "perhaps"],
    ["FailsafeInboundHostPorts", "tcp:99999"],
    ["FailsafeInboundHostPorts", "tcp:10.0.0.300/8:22"],
    ["LogActionRateLimit", "0/second"],
    ["LogActionRateLimit", "10000/day"],
    ["LogActionRateLimit", "5/week"],
    ["IpsetsRefreshInterval", "often"],
    ["IstioDSCPMark", "64"],
    ["IstioDSCPMark", "AF14"],
    ["DeviceRouteSourceAddress", "fd00::1"],
    ["InterfaceExclude", "/(/"],
  ];
  for (const [name, text] of bad)
    it(`names ${name} and keeps its default, when it is "${text}"`, () => {
      const { config, problems } = parse({ [name]: text });
      assert.equal(problems.length, 1);
      assert.equal(problems[0]?.name, name);
      assert.deepEqual(config, parse({}).config);
    });

  it("takes none for the zero value where there is one, and for a mistake where there is none", () => {
    const { config, problems } = parse({
      LogPrefix: "none",
      LogActionRateLimit: "none",
      DeviceRouteSourceAddress: "None",
      RouteRefreshInterval: "none",
      Ipv6Support: "none",
      VXLANPort: "none",
    });
    assert.deepEqual(
      [
        config.logPrefix,
        config.logRateLimit,
        config.deviceRouteSourceAddress,
        config.routeRefreshMs,
        config.ipv6Support,
      ],
      ["", undefined, undefined, 0, false],
    );
    assert.deepEqual([config.vxlanPort, problems.map(({ name }) => name)], [4789, ["VXLANPort"]]);
  });

  it("reads seconds and durations, and takes zero and less as off", () => {
    assert.equal(parse({ RouteRefreshInterval: "1m30s" }).config.routeRefreshMs, 90_000);
    assert.equal(parse({ RouteRefreshInterval: "0.5" }).config.routeRefreshMs, 500);
    assert.equal(parse({ RouteRefreshInterval: "-1" }).config.routeRefreshMs, 0);
  });
});
