import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { IPAMPoolUpdate, ServiceUpdate, ToDataplane } from "@bulrush/proto";
import type { DataplaneHandle } from "../handle.ts";
import { FakeHost } from "../testing/fake-host.ts";
import { IN_SYNC, workload, workloadRemove } from "../testing/messages.ts";

const ON = { FelixHostname: "oak", LocalSubnetL2Reachability: "PodsAndLoadBalancers" } as const;
const MAC = "66:00:00:00:00:02";

const pool = (cidr: string, modes: Partial<IPAMPoolUpdate["pool"]> = {}): ToDataplane => ({
  msg: "IPAMPoolUpdate",
  id: cidr.replace("/", "-"),
  pool: { cidr, masquerade: false, ipip_mode: "", vxlan_mode: "", allowed_uses: [], ...modes },
});
const service = (name: string, fields: Partial<ServiceUpdate> = {}): ServiceUpdate => ({
  msg: "ServiceUpdate",
  namespace: "default",
  name,
  type: "LoadBalancer",
  cluster_ips: ["10.96.0.7"],
  loadbalancer_ip: "",
  external_ips: [],
  ports: [],
  loadbalancer_ingress_ips: [],
  ...fields,
});
const node = (hostname: string, v4: string, v6 = ""): ToDataplane => ({
  msg: "HostMetadataUpdate",
  hostname,
  ipv4_addr: v4,
  ipv6_addr: v6,
  asnumber: "",
  labels: new Map(),
});

const OAK = node("oak", "192.168.0.1/24", "fd00::1/64");
const ELM = node("elm", "192.168.0.2/24");
const TAKES_ELM = service("s", { loadbalancer_ingress_ips: ["192.168.0.2"] });
const POOLS = [pool("192.168.0.128/26"), pool("fd00::f:0/112")] as const;
const POD = workload("a", { ipv4_nets: ["192.168.0.130/32"], ipv6_nets: ["fd00::f:2/128"] });

describe("LocalReachability", () => {
  let host: FakeHost;
  let dataplane: DataplaneHandle;

  const start = async (settings: Record<string, string>, ...messages: readonly ToDataplane[]): Promise<void> => {
    dataplane = host.start(settings);
    await host.send(dataplane, ...messages, IN_SYNC);
    await host.advance(1000);
  };
  const answers = (): string[] => host.neighbours.answers();

  beforeEach(() => {
    host = new FakeHost();
    host.routes.setLink(1, "lo", true, 65_536, "00:00:00:00:00:00");
    host.routes.addAddress(1, "127.0.0.1/8");
    host.routes.setLink(2, "eth0", true, 1500, MAC);
    for (const address of ["192.168.0.1/24", "fd00::1/64", "fe80::2/64"]) host.routes.addAddress(2, address);
    host.routes.setLink(5, "calia", true, 1500, "ee:ee:ee:ee:ee:ee");
  });

  it("answers nobody by default, and looks for no questions", async () => {
    const given = service("s", { loadbalancer_ingress_ips: ["192.168.0.140"] });
    await start({ FelixHostname: "oak" }, OAK, ...POOLS, POD, given);
    assert.deepEqual([answers(), host.neighbours.opened, host.neighbours.looks], [[], [], 0]);
    await dataplane.stop();
    assert.equal(host.clock.pending, 0);
  });

  it("answers for the pods of this host in both families, and announces each once as it comes", async () => {
    await start(ON, OAK, ...POOLS, POD);
    assert.deepEqual(host.neighbours.opened, [`4 at 2 with ${MAC}`, `6 at 2 with ${MAC} from fe80::2`]);
    assert.deepEqual(answers(), ["192.168.0.130 at 2", "fd00::f:2 at 2"]);
    assert.deepEqual(host.neighbours.announced, ["192.168.0.130", "fd00::f:2"]);
    await host.send(dataplane, workload("b", { ipv4_nets: ["192.168.0.131/32"] }));
    await host.advance(1000);
    assert.deepEqual(host.neighbours.announced, ["192.168.0.130", "fd00::f:2", "192.168.0.131"]);
    await host.send(dataplane, workloadRemove("a"), workloadRemove("b"));
    await host.advance(1000);
    assert.deepEqual(answers(), []);
    const { looks } = host.neighbours;
    await host.advance(1000);
    assert.equal(host.neighbours.looks, looks, "there is nobody to answer");
    await dataplane.stop();
  });

  it("answers within 25 ms, and no more after the end", async () => {
    await start(ON, OAK, ...POOLS, POD);
    const before = host.neighbours.looks;
    await host.clock.advance(25);
    assert.equal(host.neighbours.looks, before + 2, "one look for each family");
    await dataplane.stop();
    assert.deepEqual([answers(), host.clock.pending], [[], 0]);
  });

  const outside: readonly (readonly [what: string, messages: readonly ToDataplane[]])[] = [
    ["outside of the network", [pool("192.168.1.0/24"), workload("a", { ipv4_nets: ["192.168.1.9/32"] })]],
    ["outside of every pool", [workload("a", { ipv4_nets: ["192.168.0.130/32"] })]],
    ["of a pool of VXLAN", [pool("192.168.0.128/26", { vxlan_mode: "always" }), POD]],
    ["of a pool of IPIP", [pool("192.168.0.128/26", { ipip_mode: "cross-subnet" }), POD]],
    ["of the host itself", [pool("192.168.0.0/24"), workload("a", { ipv4_nets: ["192.168.0.1/32"] })]],
    ["of another host", [pool("192.168.0.0/24"), ELM, workload("a", { ipv4_nets: ["192.168.0.2/32"] })]],
    ["of another host, though a service was given it", [pool("192.168.0.0/24"), ELM, TAKES_ELM]],
    ["that is one of a whole network", [pool("192.168.0.0/24"), workload("a", { ipv4_nets: ["192.168.0.128/26"] })]],
    ["of a machine that leaves", [...POOLS, workload("a", { ...POD.endpoint, live_migration_role: "source" })]],
    ["of a pod that is down by its owner's wish", [...POOLS, workload("a", { ...POD.endpoint, state: "inactive" })]],
    ["of a machine that is to come", [...POOLS, workload("a", { ...POD.endpoint, live_migration_role: "target" })]],
  ];
  for (const [what, messages] of outside)
    it(`does not answer for an address ${what}`, async () => {
      await start(ON, OAK, ...messages);
      assert.deepEqual(answers(), []);
      await dataplane.stop();
    });

  it("answers for a machine once it has come", async () => {
    await start(ON, OAK, ...POOLS, workload("a", { ...POD.endpoint, live_migration_role: "target" }));
    host.announced.add(5);
    await host.advance(1000);
    assert.deepEqual(host.neighbours.announced, ["192.168.0.130", "fd00::f:2"]);
    await dataplane.stop();
  });

  it("counts a pool as one without encapsulation once it is", async () => {
    const never = { ipip_mode: "Never", vxlan_mode: "Never" };
    await start(ON, OAK, pool("192.168.0.128/26", { vxlan_mode: "always" }), POD);
    await host.send(dataplane, pool("192.168.0.128/26", never));
    await host.advance(1000);
    assert.deepEqual(answers(), ["192.168.0.130 at 2"]);
    await host.send(dataplane, { msg: "IPAMPoolRemove", id: "192.168.0.128-26" });
    await host.advance(1000);
    assert.deepEqual(answers(), []);
    await dataplane.stop();
  });

  describe("addresses of services", () => {
    const address = (i: number): string => `192.168.0.${129 + i}`;
    const SERVICES = Array.from({ length: 20 }, (_, i) =>
      service(`s${i}`, {
        loadbalancer_ingress_ips: [address(i)],
        ...(i % 2 === 0 ? { loadbalancer_ip: address(i) } : {}),
      }),
    );

    it("do not count for being asked for: whoever may write a service would take another's address", async () => {
      const asking = service("s", { loadbalancer_ip: "192.168.0.140", external_ips: ["192.168.0.141"] });
      await start(
        ON,
        OAK,
        ...POOLS,
        asking,
        service("t", { type: "NodePort", loadbalancer_ingress_ips: [address(1)] }),
      );
      assert.deepEqual(answers(), []);
      await host.send(dataplane, { ...asking, loadbalancer_ingress_ips: ["192.168.0.142"] });
      await host.advance(1000);
      assert.deepEqual(answers(), ["192.168.0.142 at 2"]);
      await dataplane.stop();
    });

    it("are this host's own where it is the only one", async () => {
      await start(ON, OAK, ...POOLS, ...SERVICES);
      assert.equal(answers().length, 20);
      await host.send(dataplane, service("s0", { type: "ClusterIP", loadbalancer_ingress_ips: [address(0)] }), {
        msg: "ServiceRemove",
        namespace: "default",
        name: "s1",
      });
      await host.advance(1000);
      assert.equal(answers().length, 18);
      await dataplane.stop();
    });

    it("each have one host of several, and come to another one when theirs goes", async () => {
      const owners = new Map<string, string[]>();
      for (const name of ["oak", "elm"]) {
        await start({ ...ON, FelixHostname: name }, OAK, ELM, ...POOLS, ...SERVICES);
        owners.set(name, answers());
        await dataplane.stop();
      }
      const [ofOak = [], ofElm = []] = [owners.get("oak"), owners.get("elm")];
      assert.equal(new Set([...ofOak, ...ofElm]).size, 20);
      assert.equal(ofOak.length + ofElm.length, 20);
      assert.ok(ofOak.length > 0 && ofElm.length > 0);
      await start(ON, OAK, ELM, ...POOLS, ...SERVICES);
      await host.send(dataplane, { msg: "HostMetadataRemove", hostname: "elm" });
      await host.advance(1000);
      assert.equal(answers().length, 20);
      await dataplane.stop();
    });

    it("are divided among the hosts of their subnet: one elsewhere could not answer", async () => {
      const far = Array.from({ length: 20 }, (_, i) => node(`far-${i}`, `172.16.0.${i + 1}/24`));
      await start(ON, OAK, ...far, ...POOLS, ...SERVICES);
      assert.equal(answers().length, 20);
      await dataplane.stop();
    });

    it("are divided among all hosts, where their subnet is the second one of all", async () => {
      const settings = { ...ON, FelixHostname: "far-0" };
      const far = Array.from({ length: 2 }, (_, i) => node(`far-${i}`, `172.16.0.${i + 1}/24`));
      await start(settings, ...far, ...POOLS, ...SERVICES);
      const mine = answers().length;
      assert.ok(mine > 0 && mine < 20, String(mine));
      await dataplane.stop();
    });

    it("do not go to a host that has no address of their family", async () => {
      await start({ ...ON, FelixHostname: "elm" }, node("elm", "", "fd00::2/64"), ...POOLS, ...SERVICES);
      assert.deepEqual(answers(), []);
      await dataplane.stop();
    });
  });

  it("announces all addresses again every 120 s, or as often as is set", async () => {
    await start(ON, OAK, ...POOLS, POD);
    host.neighbours.announced.length = 0;
    await host.advance(118_000);
    assert.deepEqual(host.neighbours.announced, []);
    await host.advance(2000);
    assert.deepEqual(host.neighbours.announced, ["192.168.0.130", "fd00::f:2"]);
    await dataplane.stop();
    await start({ ...ON, LocalSubnetL2ReachabilityRefreshInterval: "10" }, OAK, ...POOLS, POD);
    host.neighbours.announced.length = 0;
    await host.advance(30_000);
    assert.equal(host.neighbours.announced.length, 6);
    await dataplane.stop();
    await start({ ...ON, LocalSubnetL2ReachabilityRefreshInterval: "0" }, OAK, ...POOLS, POD);
    host.neighbours.announced.length = 0;
    await host.advance(300_000);
    assert.deepEqual(host.neighbours.announced, []);
    await dataplane.stop();
  });

  it("follows the host's devices, and speaks at none of its own", async () => {
    await start(ON, OAK, ...POOLS, POD);
    host.routes.setLink(7, "eth1", true, 1500, "66:00:00:00:00:07");
    host.routes.addAddress(7, "192.168.0.2/24");
    host.routes.setLink(8, "vxlan.calico", true, 1450, "66:00:00:00:00:08");
    host.routes.addAddress(8, "192.168.0.3/24");
    host.routes.setLink(9, "kube-ipvs0", true, 1500, "66:00:00:00:00:09");
    host.routes.addAddress(9, "192.168.0.4/24");
    await host.advance(1000);
    assert.deepEqual(answers(), ["192.168.0.130 at 2", "192.168.0.130 at 7", "fd00::f:2 at 2"]);
    host.routes.removeLink(7);
    host.neighbours.announced.length = 0;
    // As with bonds, whose next device may bring its own MAC: neighbours are told at once.
    host.routes.setLink(2, "eth0", true, 1500, "66:00:00:00:00:22");
    await host.advance(500);
    assert.deepEqual(answers(), ["192.168.0.130 at 2", "fd00::f:2 at 2"]);
    assert.deepEqual(host.neighbours.announced, ["192.168.0.130", "fd00::f:2"]);
    assert.equal(host.neighbours.opened.at(-1), "6 at 2 with 66:00:00:00:00:22 from fe80::2");
    host.routes.setLink(2, "eth0", false, 1500, "66:00:00:00:00:22");
    await host.advance(1000);
    assert.deepEqual(answers(), []);
    await dataplane.stop();
  });

  it("opens anew what cannot be listened at any more", async () => {
    await start(ON, OAK, ...POOLS, POD);
    host.neighbours.down.add(2);
    await host.advance(50);
    assert.deepEqual(answers(), []);
    // The link was down for less than anybody is told of.
    host.neighbours.down.clear();
    host.neighbours.announced.length = 0;
    await host.advance(250);
    assert.deepEqual(host.neighbours.announced, ["192.168.0.130", "fd00::f:2"]);
    assert.deepEqual(answers(), ["192.168.0.130 at 2", "fd00::f:2 at 2"]);
    await dataplane.stop();
  });

  it("holds nothing up where nobody may listen, says so once, and tries again", async () => {
    host.neighbours.refusal = new Error("EPERM");
    await start(ON, OAK, ...POOLS, POD);
    await host.advance(60_000);
    assert.equal(host.status?.phase, "in-sync");
    assert.equal(host.logs.filter((line) => line.includes("NET_RAW")).length, 2, "one for each family");
    host.neighbours.refusal = undefined;
    await host.advance(11_000);
    assert.deepEqual(answers(), ["192.168.0.130 at 2", "fd00::f:2 at 2"]);
    await dataplane.stop();
  });

  it("says again what stood in the way once, and does so after a device has come anew", async () => {
    host.neighbours.refusal = new Error("EPERM");
    await start({ ...ON, Ipv6Support: "false" }, OAK, ...POOLS, POD);
    const told = (): number => host.logs.filter((line) => line.includes("NET_RAW")).length;
    assert.equal(told(), 1);
    host.routes.setLink(2, "eth0", false, 1500, MAC);
    await host.advance(11_000);
    host.routes.setLink(2, "eth0", true, 1500, MAC);
    await host.advance(11_000);
    assert.equal(told(), 2);
    await dataplane.stop();
  });

  it("has no IPv6 where that is off", async () => {
    await start({ ...ON, Ipv6Support: "false" }, OAK, ...POOLS, POD);
    assert.deepEqual(answers(), ["192.168.0.130 at 2"]);
    await dataplane.stop();
  });
});
