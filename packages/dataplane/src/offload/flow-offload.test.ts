import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { DataplaneWorkloadEndpoint, ToDataplane } from "@bulrush/proto";
import type { DriftItem } from "../drift/drift-report.ts";
import type { InspectableDataplane } from "../handle.ts";
import { FakeHost } from "../testing/fake-host.ts";
import { hostEndpoint, IN_SYNC, policyId, tier, workload, workloadRemove } from "../testing/messages.ts";

const ON = { NFTablesFlowTableOffload: "All" } as const;

const pod = (name: string, address: string, fields: Partial<DataplaneWorkloadEndpoint> = {}): ToDataplane =>
  workload(name, { ipv4_nets: [`${address}/32`], ...fields });

describe("Flow offload", () => {
  let host: FakeHost;
  let dataplane: InspectableDataplane;
  const gone = new Set<string>();

  const devices = (family: "ip" | "ip6" = "ip"): string[] | undefined =>
    host.nft.flowtables(family, "calico")[0]?.devices.toSorted();
  const exceptions = (): string[] => [...(host.table()?.sets.get("cali40no-flow-offload")?.elements ?? [])].sort();
  /** Kinds of what was written to flow tables of IPv4, in order, since `from`. */
  const flowtableWrites = (from = 0): string[] =>
    host.nft.transactions
      .slice(from)
      .flatMap(({ operations }) => operations)
      .filter(({ kind, table }) => kind.includes("flowtable") && table.family === "ip")
      .map(({ kind }) => kind);

  beforeEach(() => {
    gone.clear();
    host = new FakeHost({ hasDevice: (name) => !gone.has(name) });
    host.routes.setLink(1, "lo");
    host.routes.setLink(2, "eth0");
    host.routes.setLink(3, "docker0");
  });

  const start = async (settings: Record<string, string>, ...messages: readonly ToDataplane[]): Promise<void> => {
    dataplane = host.start(settings);
    await host.send(dataplane, ...messages, IN_SYNC);
    await host.advance(1000);
  };

  it("is off by default", async () => {
    host.routes.setLink(10, "cali1");
    await start({}, pod("1", "10.65.0.1"));
    assert.deepEqual([devices(), flowtableWrites()], [undefined, []]);
    await dataplane.stop();
  });

  it("N17: makes the flow tables of both families, with no device to be had", async () => {
    host.routes.removeLink(2);
    await start(ON);
    assert.deepEqual([devices(), devices("ip6"), host.fatal], [[], [], []]);
    await dataplane.stop();
  });

  it("has the interfaces of active workloads that are up, tunnels, and the host's own that match", async () => {
    host.routes.setLink(10, "cali1");
    host.routes.setLink(11, "cali2", false);
    host.routes.setLink(12, "cali3");
    host.routes.setLink(13, "cali4");
    host.routes.setLink(20, "vxlan.calico");
    host.routes.setLink(21, "tunl0");
    await start(
      { ...ON, RouteSyncDisabled: "true" },
      pod("1", "10.65.0.1"),
      pod("2", "10.65.0.2"),
      pod("4", "10.65.0.4", { state: "inactive" }),
    );
    const wanted = ["cali1", "eth0", "tunl0", "vxlan.calico"];
    assert.deepEqual([devices(), devices("ip6")], [wanted, wanted]);
    await dataplane.stop();
  });

  it("takes the host's own interfaces by NFTablesFlowTableDataIfacePattern", async () => {
    await start({ ...ON, NFTablesFlowTableDataIfacePattern: "^docker" });
    assert.deepEqual(devices(), ["docker0"]);
    await dataplane.stop();
  });

  it("follows interfaces and workloads that come and go, and nobody takes its writes for another's", async () => {
    host.routes.setLink(10, "cali1");
    await start(ON, pod("1", "10.65.0.1"));
    assert.deepEqual(devices(), ["cali1", "eth0"]);
    await host.send(dataplane, pod("2", "10.65.0.2"));
    host.routes.setLink(11, "cali2");
    await host.advance(1000);
    assert.deepEqual(devices(), ["cali1", "cali2", "eth0"]);
    // The kernel takes a device out by itself when it goes.
    host.nft.dropDevice("cali1");
    host.routes.removeLink(10);
    await host.advance(1000);
    assert.deepEqual(devices(), ["cali2", "eth0"]);
    await host.send(dataplane, workloadRemove("2"));
    await host.advance(1000);
    assert.deepEqual(devices(), ["eth0"]);
    assert.deepEqual(
      [host.status?.phase, host.status?.counters.drift.device, host.status?.counters.nftReads],
      ["in-sync", 0, 3],
      "each of the three tables was read at the start alone",
    );
    await dataplane.stop();
  });

  it("leaves out a device that the kernel misses, asks for it five times more, and again when it changes", async () => {
    gone.add("cali1");
    host.routes.setLink(10, "cali1");
    host.routes.setLink(11, "cali2");
    await start(ON, pod("1", "10.65.0.1"), pod("2", "10.65.0.2"));
    assert.deepEqual(devices(), ["cali2", "eth0"]);
    assert.equal(host.status?.phase, "in-sync");
    await host.advance(60_000);
    gone.clear();
    await host.advance(60_000);
    assert.deepEqual(devices(), ["cali2", "eth0"], "it was given up");
    host.routes.setLink(10, "cali1", true, 1400);
    await host.advance(1000);
    assert.deepEqual(devices(), ["cali1", "cali2", "eth0"]);
    await dataplane.stop();
  });

  it("finds a device that comes late by the retry", async () => {
    gone.add("cali1");
    host.routes.setLink(10, "cali1");
    await start(ON, pod("1", "10.65.0.1"));
    gone.clear();
    assert.deepEqual(devices(), ["eth0"]);
    await host.advance(6000);
    assert.deepEqual(devices(), ["cali1", "eth0"]);
    await dataplane.stop();
  });

  it("N20: flows of addresses with bounds or DSCP go back to the rules, at one stroke, and may ride again after", async () => {
    host.routes.setLink(10, "cali1");
    await start(ON, pod("1", "10.65.0.1"), pod("2", "10.65.0.2"));
    assert.deepEqual([exceptions(), flowtableWrites()], [[], ["add-flowtable", "add-flowtable"]]);
    const kinds: readonly Partial<DataplaneWorkloadEndpoint>[] = [
      { qos_controls: { ingressMaxConnections: 4 } },
      { qos_controls: { egressPacketRate: 100 } },
      { qos_policies: [{ destination: "external", dscp: 46 }] },
      { state: "inactive" },
    ];
    for (const fields of kinds) {
      const before = host.nft.transactions.length;
      await host.send(dataplane, pod("1", "10.65.0.1", fields));
      await host.advance(1000);
      assert.deepEqual(exceptions(), ["10.65.0.1"], JSON.stringify(fields));
      const remake = host.nft.transactions.find(
        ({ operations }, i) => i >= before && operations.some(({ kind }) => kind === "delete-flowtable"),
      );
      const inOne = remake?.operations.map(({ kind }) => kind) ?? [];
      for (const kind of ["delete-flowtable", "add-flowtable", "add-elements", "add-rule"])
        assert.ok(inOne.includes(kind as (typeof inOne)[number]), `${kind} for ${JSON.stringify(fields)}`);
      assert.deepEqual(devices(), fields.state === "inactive" ? ["eth0"] : ["cali1", "eth0"]);

      const cleared = host.nft.transactions.length;
      await host.send(dataplane, pod("1", "10.65.0.1"));
      await host.advance(1000);
      assert.deepEqual([exceptions(), devices()], [[], ["cali1", "eth0"]]);
      assert.ok(!flowtableWrites(cleared).includes("delete-flowtable"), "nothing has to leave");
    }
    await host.send(dataplane, pod("1", "10.65.0.1", { qos_controls: { ingressBandwidth: 1_000_000 } }));
    await host.advance(1000);
    assert.deepEqual(exceptions(), [], "a bound of bandwidth is a queue, which flow tables do not pass by");
    await dataplane.stop();
  });

  it("keeps off an interface whose packets are judged one by one by do-not-track policy", async () => {
    const endpoint = (untracked: boolean): ToDataplane =>
      hostEndpoint("h", { name: "eth0", untracked_tiers: untracked ? [tier("default", [policyId("gnp/n")])] : [] });
    await start(ON, endpoint(false));
    assert.deepEqual(devices(), ["eth0"]);
    await host.send(dataplane, { msg: "ActivePolicyUpdate", id: policyId("gnp/n"), policy: UNTRACKED }, endpoint(true));
    await host.advance(1000);
    assert.deepEqual(devices(), []);
    await dataplane.stop();
  });

  it("writes nothing at a restart with nothing changed, and makes the tables anew when exceptions came meanwhile", async () => {
    host.routes.setLink(10, "cali1");
    await start(ON, pod("1", "10.65.0.1"));
    await dataplane.stop();
    const before = host.nft.transactions.length;
    await start(ON, pod("1", "10.65.0.1"));
    assert.equal(host.nft.transactions.length, before);
    await dataplane.stop();
    await start(ON, pod("1", "10.65.0.1", { qos_policies: [{ destination: "external", dscp: 46 }] }));
    assert.deepEqual(flowtableWrites(before), ["delete-flowtable", "add-flowtable", "add-flowtable"]);
    assert.deepEqual(devices(), ["cali1", "eth0"]);
    await dataplane.stop();
  });

  it("is taken away when it is switched off", async () => {
    await start(ON);
    await dataplane.stop();
    await start({});
    assert.deepEqual([devices(), host.table()?.sets.has("cali40no-flow-offload")], [undefined, false]);
    await dataplane.stop();
  });

  it("puts back devices and flow tables that somebody took away", async () => {
    await start(ON);
    const table = { family: "ip", name: "calico" } as const;
    host.nft.edit((tx) => tx.deleteFlowtableDevices(table, { name: "calico", devices: ["eth0"] }));
    await host.editLoudly((tx) => tx.flushChain(table, "filter-cali-FORWARD").deleteFlowtable(table, "calico"));
    await host.advance(1000);
    assert.deepEqual([devices(), host.missing([IN_SYNC], ON)], [["eth0"], ""]);
    await dataplane.stop();
  });

  it("names devices that somebody took away or added, before they are put right and after", async () => {
    await start(ON);
    const table = { family: "ip", name: "calico" } as const;
    host.nft.edit((tx) =>
      tx
        .deleteFlowtableDevices(table, { name: "calico", devices: ["eth0"] })
        .addFlowtable(table, { name: "calico", devices: ["docker0"] }),
    );
    const wanted = ["eth0 in the flow table of ip missing", "docker0 in the flow table of ip unknown"];
    const words = (items: readonly DriftItem[]): string[] => items.map(({ name, what }) => `${name} ${what}`);
    const report = dataplane.inspect();
    await host.settle();
    assert.deepEqual(words((await report).differences), wanted);
    await host.advance(200_000);
    assert.deepEqual(devices(), ["eth0"]);
    assert.equal(host.status?.counters.drift.device, 2);
    const after = dataplane.inspect();
    await host.settle();
    const { differences, repairs } = await after;
    assert.deepEqual([differences, repairs.map(({ items }) => words(items))], [[], [wanted]]);
    await dataplane.stop();
  });

  for (const [name, release, hasFlowtables] of [
    ["has no flow tables", "6.18.0", false],
    ["does not delete flows that are in one", "6.3.9-rc1", true],
    ["does not say what it is", "", true],
  ] as const)
    it(`stays off, says so once and holds nothing up where the kernel ${name}`, async () => {
      host = new FakeHost({ hasFlowtables });
      host.sysctls.write("kernel/osrelease", release);
      await start(ON, pod("1", "10.65.0.1"));
      await host.advance(120_000);
      assert.deepEqual([devices(), host.status?.phase, host.fatal], [undefined, "in-sync", []]);
      assert.equal(host.logs.filter((line) => line.includes("Flow offload stays off")).length, 1);
      assert.equal(host.missing([pod("1", "10.65.0.1"), IN_SYNC]), "", "the ruleset is that without it");
      await dataplane.stop();
    });
});

const UNTRACKED = {
  inbound_rules: [],
  outbound_rules: [],
  untracked: true,
  pre_dnat: false,
  namespace: "",
  tier: "default",
  original_selector: "all()",
  perf_hints: [],
} as const;
