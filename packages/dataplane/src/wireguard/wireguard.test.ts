import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { compareStrings } from "@bulrush/base";
import { NetlinkError } from "@bulrush/netlink";
import type { ToDataplane } from "@bulrush/proto";
import type { DriftItem } from "../drift/drift-report.ts";
import type { InspectableDataplane } from "../handle.ts";
import { FakeHost } from "../testing/fake-host.ts";
import { clusterRoute, IN_SYNC } from "../testing/messages.ts";
import {
  ASH,
  CLUSTER,
  DEVICE,
  ELM,
  ELM_KEY,
  MARK,
  OWN,
  RULE,
  TABLE,
  block,
  host,
  keyOf,
  privateKey,
} from "../testing/wireguard-cluster.ts";

describe("WireguardDeviceManager", () => {
  let kernel: FakeHost;
  let dataplane: InspectableDataplane;

  const start = async (settings: Record<string, string>, ...messages: readonly ToDataplane[]): Promise<void> => {
    dataplane = kernel.start({ FelixHostname: "oak", ...settings });
    await kernel.send(dataplane, ...messages, IN_SYNC);
    await kernel.advance(1000);
  };
  const ON = { WireguardEnabled: "true" } as const;
  const device = () => kernel.wireguard.device(DEVICE);
  const peers = (): unknown =>
    device()
      ?.peers.map(({ allowedIps, endpoint, publicKey: key }) => [key, endpoint, allowedIps] as const)
      .sort(([a], [b]) => compareStrings(a, b));
  const told = (): string[] =>
    kernel.messages.flatMap((message) =>
      message.msg === "WireguardStatusUpdate" ? [`${message.ip_version} ${message.public_key}`] : [],
    );
  const table = (number: number = TABLE): string[] => kernel.routes.listing(number);
  const rules = (): unknown => kernel.routes.rules(4);

  beforeEach(() => {
    kernel = new FakeHost();
    kernel.routes.setLink(2, "eth0");
  });

  it("is not there by default, and nothing is told or looked at, whatever comes of other hosts", async () => {
    await start({}, ...CLUSTER, ELM_KEY);
    let looks = 0;
    const read = kernel.routes.rules.bind(kernel.routes);
    kernel.routes.rules = (family) => {
      looks++;
      return read(family);
    };
    await kernel.send(dataplane, block("10.65.9.0/26", "ash"), keyOf("ash", ASH), host("fir", "192.168.0.9"));
    await kernel.advance(60_000);
    assert.equal(looks, 0);
    assert.deepEqual([kernel.routes.link(DEVICE), rules(), table(), told()], [undefined, [], [], []]);
    await dataplane.stop();
  });

  it("V9: makes device and key, tells the key, and sends nothing encrypted before the datastore has it", async () => {
    await start(ON, ...CLUSTER, ELM_KEY);
    const link = kernel.routes.link(DEVICE);
    assert.deepEqual([link?.kind, link?.mtu, link?.up], ["wireguard", 1440, true]);
    assert.deepEqual([device()?.publicKey, device()?.port, device()?.mark], [OWN, 51820, MARK]);
    assert.deepEqual(told(), [`4 ${OWN}`]);
    assert.deepEqual(peers(), [[ELM, "192.168.0.2:51820", ["10.65.2.0/26"]]], "it can be understood already");
    assert.deepEqual(table(), [
      "10.65.1.0/26 dev - proto 80 metric 0 throw",
      "10.65.2.0/26 dev - proto 80 metric 0 throw",
      "10.65.3.0/26 dev - proto 80 metric 0 throw",
    ]);

    await kernel.send(dataplane, keyOf("oak", OWN, "10.65.1.1"));
    await kernel.advance(1000);
    assert.deepEqual(
      table(),
      [
        "10.65.1.0/26 dev - proto 80 metric 0 throw",
        `10.65.2.0/26 dev ${DEVICE} proto 80 metric 0`,
        "10.65.3.0/26 dev - proto 80 metric 0 throw",
      ],
      "elm has a key, ash has none",
    );
    assert.deepEqual(rules(), [RULE]);
    assert.deepEqual(
      kernel.routes.addresses().map(({ address }) => address),
      ["10.65.1.1/32"],
    );
    assert.deepEqual(told(), [`4 ${OWN}`]);
    assert.equal(kernel.status?.phase, "in-sync");
    await dataplane.stop();
  });

  it("adds the rule last of all", async () => {
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    const { writes } = kernel.routes;
    assert.equal(
      writes.findLastIndex((write) => write.startsWith("add-rule")),
      writes.length - 1,
      writes.join("\n"),
    );
    await dataplane.stop();
  });

  it("tells its key at once on a host that has come up anew, and sends nothing encrypted before the datastore has it", async () => {
    const lost = ASH;
    await start({ ...ON, WireguardHostEncryptionEnabled: "true" }, ...CLUSTER, ELM_KEY, keyOf("oak", lost));
    assert.deepEqual(told(), [`4 ${OWN}`]);
    assert.equal(table().filter((route) => route.includes(DEVICE)).length, 0);
    await kernel.send(dataplane, keyOf("oak", OWN));
    await kernel.advance(1000);
    assert.ok(table().includes(`10.65.2.0/26 dev ${DEVICE} proto 80 metric 0`));
    await dataplane.stop();
  });

  it("encrypts for all others, where the route of one host is refused", async () => {
    kernel.routes.failWritesOf = "10.65.3.0/26";
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    assert.deepEqual(rules(), [RULE]);
    assert.ok(table().includes(`10.65.2.0/26 dev ${DEVICE} proto 80 metric 0`));
    assert.equal(kernel.status?.phase, "retrying");
    kernel.routes.failWritesOf = undefined;
    await kernel.advance(2000);
    assert.deepEqual([table().length, kernel.status?.phase], [3, "in-sync"]);
    await dataplane.stop();
  });

  it("does not encrypt what goes to two hosts with one key, nor to one with our own key or none", async () => {
    await start(ON, ...CLUSTER, keyOf("oak", OWN), keyOf("elm", ELM), keyOf("ash", ELM));
    assert.deepEqual([peers(), table().filter((route) => !route.endsWith("throw"))], [[], []]);
    await kernel.send(dataplane, keyOf("ash", ASH));
    await kernel.advance(1000);
    assert.deepEqual(
      peers(),
      [
        [ELM, "192.168.0.2:51820", ["10.65.2.0/26"]],
        [ASH, "192.168.0.3:51820", ["10.65.3.0/26"]],
      ].sort(([a], [b]) => compareStrings(String(a), String(b))),
    );
    assert.equal(table().filter((route) => route.includes(DEVICE)).length, 2);
    await kernel.send(dataplane, keyOf("ash", OWN));
    await kernel.advance(1000);
    assert.equal(table().filter((route) => route.includes(DEVICE)).length, 0, "nobody knows who oak is now");
    await kernel.send(dataplane, { msg: "WireguardEndpointRemove", hostname: "ash" });
    await kernel.advance(1000);
    assert.deepEqual(
      table().filter((route) => route.includes(DEVICE)),
      [`10.65.2.0/26 dev ${DEVICE} proto 80 metric 0`],
    );
    await dataplane.stop();
  });

  it("treats a key of zeros as none, and a host without an address as one without a key", async () => {
    await start(
      ON,
      ...CLUSTER,
      keyOf("oak", OWN),
      keyOf("elm", privateKey(0)),
      keyOf("fir", ASH),
      block("10.65.4.0/26", "fir"),
    );
    assert.deepEqual(peers(), []);
    assert.ok(table().includes("10.65.4.0/26 dev - proto 80 metric 0 throw"));
    await kernel.send(dataplane, host("fir", "192.168.0.4"));
    await kernel.advance(1000);
    assert.deepEqual(peers(), [[ASH, "192.168.0.4:51820", ["10.65.4.0/26"]]]);
    await dataplane.stop();
  });

  it("follows networks, hosts and keys that come and go", async () => {
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    await kernel.send(dataplane, block("10.65.2.64/26", "elm"), host("elm", "192.168.0.12"));
    await kernel.advance(1000);
    assert.deepEqual(peers(), [[ELM, "192.168.0.12:51820", ["10.65.2.0/26", "10.65.2.64/26"]]]);
    await kernel.send(dataplane, { msg: "RouteRemove", dst: "10.65.2.0/26" }, keyOf("elm", ASH));
    await kernel.advance(1000);
    assert.deepEqual(peers(), [[ASH, "192.168.0.12:51820", ["10.65.2.64/26"]]]);
    assert.deepEqual(
      table().filter((route) => route.includes("10.65.2")),
      [`10.65.2.64/26 dev ${DEVICE} proto 80 metric 0`],
    );
    await kernel.send(dataplane, { msg: "WireguardEndpointRemove", hostname: "elm" });
    await kernel.advance(1000);
    assert.deepEqual([peers(), table().filter((route) => route.includes(DEVICE))], [[], []]);
    await dataplane.stop();
  });

  it("keeps its key over a restart that changes nothing, and writes nothing then", async () => {
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    await dataplane.stop();
    const before = [kernel.routes.writes.length, kernel.wireguard.changes.length];
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    assert.deepEqual([kernel.routes.writes.length, kernel.wireguard.changes.length], before);
    assert.deepEqual([device()?.publicKey, told()], [OWN, []], "the datastore has it");
    await dataplane.stop();
  });

  it("V9: puts right within 10 s what others did to the device, and tells the new key where it lost its own", async () => {
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    kernel.wireguard.change({ name: DEVICE, port: 1, mark: 0, replacePeers: true });
    kernel.routes.apply([{ kind: "delete-rule", rule: RULE }]);
    await kernel.advance(11_000);
    assert.deepEqual([device()?.port, device()?.mark, rules()], [51820, MARK, [RULE]]);
    assert.deepEqual(peers(), [[ELM, "192.168.0.2:51820", ["10.65.2.0/26"]]]);
    assert.ok((kernel.status?.counters.drift.device ?? 0) > 0);

    kernel.wireguard.change({ name: DEVICE, privateKey: privateKey(0) });
    await kernel.advance(11_000);
    const next = device()?.publicKey ?? "";
    assert.notEqual(next, OWN);
    assert.deepEqual(told(), [`4 ${next}`]);
    assert.equal(table().filter((route) => route.includes(DEVICE)).length, 0, "others do not know the key yet");
    await kernel.send(dataplane, keyOf("oak", next));
    await kernel.advance(1000);
    assert.equal(table().filter((route) => route.includes(DEVICE)).length, 1);
    await dataplane.stop();
  });

  it("names what others did to the device, before it is put right and after", async () => {
    const items = (some: readonly DriftItem[]): string[] =>
      some.map(({ detail, kind, name, what }) => `${kind} ${name} ${what}: ${detail}`);
    const inspect = async (): Promise<{ now: string[]; repairs: string[][] }> => {
      const report = dataplane.inspect();
      await kernel.settle();
      const { differences, repairs } = await report;
      return { now: items(differences), repairs: repairs.map((repair) => items(repair.items)) };
    };
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    await kernel.advance(200_000);
    assert.deepEqual(await inspect(), { now: [], repairs: [] });
    kernel.wireguard.change({ name: DEVICE, port: 1, mark: 0, replacePeers: true });
    kernel.routes.apply([{ kind: "delete-rule", rule: RULE }]);
    kernel.routes.putRoute({ destination: "172.16.0.0/12", table: TABLE, device: 2 });
    const first = `device ${DEVICE} changed: port, mark, 1 of its hosts, 1 of its routes, rule missing`;
    assert.deepEqual(await inspect(), { now: [first], repairs: [] });
    await kernel.advance(11_000);
    assert.deepEqual(await inspect(), { now: [], repairs: [[first]] });
    kernel.wireguard.change({ name: DEVICE, privateKey: privateKey(0) });
    const second = `device ${DEVICE} changed: no key, 1 of its routes`;
    assert.deepEqual((await inspect()).now, [second]);
    await kernel.advance(11_000);
    assert.deepEqual((await inspect()).repairs, [[first], [second]]);
    kernel.routes.removeLink(kernel.routes.link(DEVICE)?.index ?? 0);
    await kernel.advance(1000);
    assert.deepEqual((await inspect()).repairs, [[first], [second], [`device ${DEVICE} missing: `]]);
    await dataplane.stop();
  });

  it("makes the device again when it was deleted", async () => {
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    kernel.routes.removeLink(kernel.routes.link(DEVICE)?.index ?? 0);
    await kernel.advance(1000);
    assert.deepEqual(peers(), [[ELM, "192.168.0.2:51820", ["10.65.2.0/26"]]]);
    assert.deepEqual(told(), [`4 ${device()?.publicKey}`], "it has another key");
    await dataplane.stop();
  });

  it("has another address before the one it had goes, as the kernel drops the routes of a device with its last", async () => {
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN, "10.65.1.1"));
    kernel.routes.writes.length = 0;
    await kernel.send(dataplane, keyOf("oak", OWN, "10.65.1.9"));
    await kernel.advance(1000);
    assert.deepEqual(
      kernel.routes.writes.filter((write) => write.includes("address")),
      ["replace-address 10.65.1.9/32", "delete-address 10.65.1.1/32"],
    );
    assert.equal(table().filter((route) => route.includes(DEVICE)).length, 1);
    await dataplane.stop();
  });

  it("leaves alone the endpoint that the kernel has learned", async () => {
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    kernel.wireguard.change({ name: DEVICE, peers: [{ publicKey: ELM, endpoint: "198.51.100.7:1024" }] });
    await kernel.advance(25_000);
    assert.deepEqual(peers(), [[ELM, "198.51.100.7:1024", ["10.65.2.0/26"]]]);
    await kernel.send(dataplane, host("elm", "192.168.0.12"));
    await kernel.advance(1000);
    assert.deepEqual(peers(), [[ELM, "192.168.0.12:51820", ["10.65.2.0/26"]]]);
    await dataplane.stop();
  });

  it("R24: removes unknown rules and routes of its own table alone", async () => {
    const foreign = { family: 4, priority: 50, table: 7, mark: { value: 1, mask: 1 } } as const;
    const unknown = { family: 4, priority: 50, table: TABLE, source: "10.0.0.0/8" } as const;
    kernel.routes.apply([
      { kind: "add-rule", rule: foreign },
      { kind: "add-rule", rule: unknown },
    ]);
    kernel.routes.putRoute({ destination: "172.16.0.0/12", table: TABLE, device: 2 });
    kernel.routes.putRoute({ destination: "172.16.0.0/12", table: 7, device: 2 });
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    assert.deepEqual(rules(), [foreign, RULE]);
    assert.ok(!table().some((route) => route.startsWith("172.16")));
    assert.equal(table(7).length, 1);
    await dataplane.stop();
  });

  it("V9: takes everything away when it is switched off, and tells the datastore that there is no key", async () => {
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    await dataplane.stop();
    await start({}, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    assert.deepEqual([kernel.routes.link(DEVICE), rules(), table()], [undefined, [], []]);
    assert.deepEqual(told(), ["4 "]);
    await dataplane.stop();
  });

  for (const [what, settings] of [
    ["on", ON],
    ["off", {}],
  ] as const)
    it(`V9: takes away the rule, routes and device of earlier settings, and nobody else's, ${what}`, async () => {
      await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
      await dataplane.stop();
      const others = [
        { ...RULE, table: 7, protocol: 3 },
        { ...RULE, table: 7, mark: { value: 0x300000, mask: 0x300000 } },
        { ...RULE, table: 7, priority: 98 },
        { ...RULE, table: 7, source: "10.0.0.0/8" },
        { ...RULE, table: 254 },
      ] as const;
      kernel.routes.apply(others.map((rule) => ({ kind: "add-rule", rule })));
      kernel.routes.apply([{ kind: "add-link", plain: { name: "wg0", kind: "wireguard", up: true } }]);
      kernel.routes.putRoute({
        destination: "172.16.0.0/12",
        table: TABLE,
        device: kernel.routes.link("wg0")?.index ?? 0,
      });
      kernel.routes.putRoute({ destination: "172.16.0.0/12", table: 7, protocol: 80, device: 2 });
      await start({ ...settings, RouteTableRanges: "10-20", WireguardInterfaceName: "wg9" }, ...CLUSTER, ELM_KEY);
      assert.deepEqual(
        [kernel.routes.link(DEVICE), table(), table(7).length],
        [undefined, ["172.16.0.0/12 dev wg0 proto 3 metric 0"], 1],
      );
      assert.deepEqual(rules(), what === "on" ? [...others, { ...RULE, table: 10 }] : others);
      assert.equal(kernel.routes.link("wg9")?.kind, what === "on" ? "wireguard" : undefined);
      assert.equal(kernel.status?.phase, "in-sync");
      await dataplane.stop();
    });

  it("V9: takes away a device of an earlier name", async () => {
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    await dataplane.stop();
    await start({ ...ON, WireguardInterfaceName: "wg9" }, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    assert.deepEqual([kernel.routes.link(DEVICE), kernel.wireguard.device("wg9")?.port], [undefined, 51820]);
    assert.deepEqual(rules(), [RULE]);
    await dataplane.stop();
  });

  it("is not looked for again when it is off and nothing was found, and a key of ours is still told away", async () => {
    await start({}, ...CLUSTER);
    let looks = 0;
    const read = kernel.routes.rules.bind(kernel.routes);
    kernel.routes.rules = (family) => {
      looks++;
      return read(family);
    };
    kernel.routes.setLink(3, "eth1");
    await kernel.advance(1_000_000);
    assert.deepEqual([looks, told()], [0, []]);
    await kernel.send(dataplane, keyOf("oak", OWN));
    await kernel.advance(1000);
    assert.deepEqual([looks, told()], [0, ["4 "]]);
    await dataplane.stop();
  });

  it("holds nothing up on a host whose kernel has no IPv6", async () => {
    kernel.routes.rules = (family) => {
      if (family === 4) return [];
      const code = "NETLINK_REFUSED";
      throw new NetlinkError("EAFNOSUPPORT", { code, op: "List rules", errno: 97, errnoName: "EAFNOSUPPORT" });
    };
    await start({}, ...CLUSTER);
    assert.equal(kernel.status?.phase, "in-sync");
    await dataplane.stop();
  });

  it("leaves the tables of others alone when it is off", async () => {
    const foreign = { family: 4, priority: 99, table: TABLE, mark: { value: 3, mask: 0xff } } as const;
    kernel.routes.apply([{ kind: "add-rule", rule: foreign }]);
    kernel.routes.putRoute({ destination: "172.16.0.0/12", table: TABLE, device: 2 });
    await start({}, ...CLUSTER);
    assert.deepEqual([rules(), table().length], [[foreign], 1]);
    await dataplane.stop();
  });

  it("says once that the kernel has none, has no key then, and holds nothing up", async () => {
    kernel.routes.missingKinds.add("wireguard");
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    await kernel.advance(60_000);
    assert.deepEqual([kernel.status?.phase, rules(), table(), told()], ["in-sync", [], [], ["4 "]]);
    assert.equal(kernel.logs.filter((line) => line.includes("no WireGuard")).length, 1);
    kernel.routes.missingKinds.clear();
    await kernel.advance(11_000);
    assert.deepEqual(device()?.publicKey, OWN, "it is there as soon as the kernel can");
    await dataplane.stop();
  });

  it("tries again in a second what failed, and says so", async () => {
    kernel.wireguard.failure = new Error("out of luck");
    await start(ON, ...CLUSTER, ELM_KEY);
    assert.ok(kernel.logs.some((line) => line.includes("Apply")));
    await kernel.advance(3000);
    assert.deepEqual([device()?.publicKey, kernel.status?.phase], [OWN, "in-sync"]);
    await dataplane.stop();
  });

  it("has the settings that it is given", async () => {
    const settings = {
      WireguardInterfaceName: "wg9",
      WireguardListeningPort: "51900",
      WireguardMTU: "1380",
      WireguardPersistentKeepAlive: "25",
      WireguardRoutingRulePriority: "77",
      RouteTableRanges: "253-256,300-400",
      NftablesMarkMask: "0x3f",
    };
    await start({ ...ON, ...settings }, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    const wireguard = kernel.wireguard.device("wg9");
    assert.deepEqual([wireguard?.port, wireguard?.mark, kernel.routes.link("wg9")?.mtu], [51900, 0x20, 1380]);
    assert.deepEqual(
      wireguard?.peers.map(({ endpoint, keepaliveSeconds }) => [endpoint, keepaliveSeconds]),
      [["192.168.0.2:51900", 25]],
    );
    assert.deepEqual(rules(), [{ ...RULE, priority: 77, table: 256, mark: { value: 0x20, mask: 0x20 } }]);
    assert.equal(table(256).length, 3);
    await dataplane.stop();
  });

  it("stays off where the mask has no bit for it", async () => {
    await start({ ...ON, NftablesMarkMask: "0x1f" }, ...CLUSTER, ELM_KEY);
    assert.equal(kernel.routes.link(DEVICE), undefined);
    assert.ok(kernel.logs.some((line) => line.includes("no sixth bit")));
    await dataplane.stop();
  });

  it("encrypts what hosts send themselves where that is asked for, and has no address then", async () => {
    const hosts = [
      clusterRoute("192.168.0.1/32", { dst_node_name: "oak", types: ["LOCAL_HOST"], ip_pool_type: "NONE" }),
      clusterRoute("192.168.0.2/32", { dst_node_name: "elm", types: ["REMOTE_HOST"], ip_pool_type: "NONE" }),
    ];
    await start(ON, ...CLUSTER, ...hosts, ELM_KEY, keyOf("oak", OWN));
    assert.ok(!table().some((route) => route.startsWith("192.168")), "not by default");
    assert.ok(!kernel.sysctls.writes.some((line) => line.includes("src_valid_mark")));
    await dataplane.stop();
    const encrypted = { ...ON, WireguardHostEncryptionEnabled: "true" };
    await start(encrypted, ...CLUSTER, ...hosts, ELM_KEY, keyOf("oak", OWN));
    assert.deepEqual(
      table().filter((route) => route.startsWith("192.168")),
      ["192.168.0.1/32 dev - proto 80 metric 0 throw", `192.168.0.2/32 dev ${DEVICE} proto 80 metric 0`],
    );
    assert.deepEqual(peers(), [[ELM, "192.168.0.2:51820", ["10.65.2.0/26", "192.168.0.2/32"]]]);
    assert.ok(kernel.sysctls.writes.includes("net/ipv4/conf/all/src_valid_mark=1"));
    await dataplane.stop();
  });

  it("has a device, table and rule of its own for IPv6", async () => {
    const key6 = (hostname: string, key: string, address = ""): ToDataplane => ({
      msg: "WireguardEndpointV6Update",
      hostname,
      public_key_v6: key,
      interface_ipv6_addr: address,
    });
    await start(
      { WireguardEnabledV6: "true" },
      host("oak", "192.168.0.1", "fd00::1"),
      host("elm", "192.168.0.2", "fd00::2"),
      block("fd00:65:1::/122", "oak", "LOCAL_WORKLOAD"),
      block("fd00:65:2::/122", "elm"),
      block("10.65.2.0/26", "elm"),
      key6("elm", ELM),
      key6("oak", OWN, "fd00:65:1::1"),
    );
    assert.equal(kernel.routes.link(DEVICE), undefined);
    const wireguard = kernel.wireguard.device("wg-v6.cali");
    assert.deepEqual([wireguard?.port, kernel.routes.link("wg-v6.cali")?.mtu], [51821, 1420]);
    assert.deepEqual(
      wireguard?.peers.map(({ allowedIps, endpoint }) => [endpoint, allowedIps]),
      [["[fd00::2]:51821", ["fd00:65:2::/122"]]],
    );
    assert.deepEqual(table(2), [
      "fd00:65:1::/122 dev - proto 80 metric 1024 throw",
      "fd00:65:2::/122 dev wg-v6.cali proto 80 metric 1024",
    ]);
    assert.deepEqual(kernel.routes.rules(6), [{ ...RULE, family: 6, table: 2 }]);
    assert.deepEqual([kernel.routes.rules(4), told()], [[], []]);
    await dataplane.stop();
  });

  it("R22: is not touched where routes are not ours, and it is said that packets go unencrypted", async () => {
    await start({ ...ON, RouteSyncDisabled: "true" }, ...CLUSTER, ELM_KEY);
    assert.deepEqual([kernel.routes.link(DEVICE), told()], [undefined, []]);
    assert.ok(kernel.logs.some((line) => /WireguardEnabled has no effect.*unencrypted/.test(line)));
    await dataplane.stop();
  });
});
