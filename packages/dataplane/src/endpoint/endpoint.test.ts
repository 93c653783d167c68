import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { Link, Route } from "@bulrush/netlink";
import { parseDataplaneConfig } from "../config/parse-config.ts";
import { Interfaces } from "../manager/interfaces.ts";
import { RulesetManagers } from "../manager/ruleset-managers.ts";
import { WorkloadEndpoints } from "../manager/workload-endpoints.ts";
import type { FromDataplane } from "../status.ts";
import { FakeSysctls } from "../testing/fake-sysctls.ts";
import { hostEndpoint, workload, workloadRemove } from "../testing/messages.ts";
import { EndpointStatuses } from "./endpoint-statuses.ts";
import { HostSysctls } from "./host-sysctls.ts";
import { InterfaceSysctls } from "./interface-sysctls.ts";

const NETS = { ipv4_nets: ["10.65.0.2/32"], ipv6_nets: ["fd65::2/128"] };

describe("endpoint settings and status", () => {
  let endpoints: WorkloadEndpoints;
  let interfaces: Interfaces;
  let managers: RulesetManagers;
  let kernel: FakeSysctls;
  let sysctls: InterfaceSysctls;
  let statuses: EndpointStatuses;
  let warnings: string[];

  const setUp = (settings: Record<string, string> = {}): void => {
    const { config } = parseDataplaneConfig(new Map(Object.entries(settings)));
    endpoints = new WorkloadEndpoints();
    interfaces = new Interfaces();
    managers = new RulesetManagers({ config, endpoints, interfaces, onBadMember: () => undefined });
    kernel = new FakeSysctls();
    warnings = [];
    sysctls = new InterfaceSysctls(config, endpoints, interfaces);
    statuses = new EndpointStatuses({ endpoints, hostEndpoints: managers.hostEndpoints, interfaces, sysctls });
  };
  beforeEach(() => setUp());

  const link = (name: string, index: number, up: boolean, ...addresses: readonly string[]): void =>
    interfaces.put(name, { name, index, up, mtu: 1500, addresses: new Set(addresses) });
  const apply = (): readonly string[] => sysctls.apply(kernel, (message) => warnings.push(message)).failures;
  /** "default/a up" */
  const told = (): string[] => {
    managers.completeDeferredWork();
    return statuses.changes().map((message: FromDataplane) => {
      if (!("id" in message)) return message.msg;
      const id = typeof message.id === "string" ? message.id : message.id.workload;
      return "status" in message ? `${id} ${message.status}` : `${id} removed`;
    });
  };

  it("InterfaceSysctls.apply() makes the host answer for the gateway and forward, once the interface is up", () => {
    endpoints.onUpdate(workload("a", NETS));
    link("calia", 5, false);
    assert.deepEqual([apply(), kernel.writes], [[], []]);
    link("calia", 5, true);
    assert.deepEqual(apply(), []);
    assert.deepEqual(
      new Set(kernel.writes),
      new Set([
        "net/ipv4/conf/calia/route_localnet=1",
        "net/ipv4/conf/calia/proxy_arp=1",
        "net/ipv4/conf/calia/forwarding=1",
        "net/ipv6/conf/calia/proxy_ndp=1",
        "net/ipv6/conf/calia/forwarding=1",
      ]),
    );
    assert.deepEqual([apply(), kernel.writes.length], [[], 5]);
  });

  it("InterfaceSysctls.apply() sets rp_filter to the system's default, and to 0 where sources may be spoofed", () => {
    setUp({ WorkloadSourceSpoofing: "Any" });
    kernel.write("net/ipv4/conf/default/rp_filter", "2");
    endpoints.onUpdate(workload("a", NETS));
    endpoints.onUpdate(workload("b", { ...NETS, allow_spoofed_source_prefixes: ["8.8.8.8/32"] }));
    kernel.write("net/ipv4/conf/calib/rp_filter", "1");
    link("calia", 5, true);
    link("calib", 6, true);
    apply();
    assert.equal(kernel.read("net/ipv4/conf/calia/rp_filter"), "2");
    assert.equal(kernel.read("net/ipv4/conf/calib/rp_filter"), "0");
  });

  it("InterfaceSysctls.apply() reports a failure and tries again", () => {
    endpoints.onUpdate(workload("a", NETS));
    link("calia", 5, true);
    kernel.failing = "proxy_arp";
    assert.equal(apply().length, 1);
    assert.deepEqual(told(), ["default/a down"]);
    kernel.failing = undefined;
    assert.deepEqual(apply(), []);
    assert.deepEqual(told(), ["default/a up"]);
  });

  it("InterfaceSysctls.apply() says nothing of an interface that goes while it is at it, which stays down", () => {
    endpoints.onUpdate(workload("a", NETS));
    link("calia", 5, true);
    const write = kernel.write.bind(kernel);
    kernel.write = () => {
      throw Object.assign(new Error("no such file or directory"), { code: "ENOENT" });
    };
    assert.deepEqual([apply(), told()], [[], ["default/a down"]]);
    kernel.write = write;
    assert.deepEqual([apply(), told()], [[], ["default/a up"]]);
  });

  it("InterfaceSysctls.apply() only warns, when proxy_delay cannot be set", () => {
    kernel.write("net/ipv4/neigh/calia/proxy_delay", "80");
    kernel.failing = "proxy_delay";
    endpoints.onUpdate(workload("a", NETS));
    link("calia", 5, true);
    assert.deepEqual(apply(), []);
    assert.equal(warnings.length, 1);
    assert.deepEqual(told(), ["default/a up"]);
  });

  it("EndpointStatuses.changes() says up when active, up and configured; each change once", () => {
    endpoints.onUpdate(workload("a", NETS));
    assert.deepEqual(told(), ["default/a down"]);
    link("calia", 5, true);
    assert.deepEqual(told(), []);
    apply();
    assert.deepEqual(told(), ["default/a up"]);
    link("calia", 5, false);
    assert.deepEqual(told(), ["default/a down"]);
    endpoints.onUpdate(workloadRemove("a"));
    assert.deepEqual(told(), ["default/a removed"]);
  });

  it("EndpointStatuses.changes() says down for an endpoint that is inactive or does not own its interface", () => {
    link("cali9", 5, true);
    endpoints.onUpdate(workload("a", { ...NETS, name: "cali9", state: "inactive" }));
    endpoints.onUpdate(workload("b", { ...NETS, name: "cali9" }));
    apply();
    assert.deepEqual(told(), ["default/a down", "default/b down"]);
  });

  it("E2: a host endpoint with a wrong name or address is in error, and up once its interface comes", () => {
    managers.onUpdate(hostEndpoint("named", { name: "eth7" }));
    managers.onUpdate(hostEndpoint("addressed", { expected_ipv4_addrs: ["10.9.9.9"] }));
    managers.onUpdate(hostEndpoint("star", { name: "*" }));
    assert.deepEqual(told().sort(), ["addressed error", "named error", "star up"]);
    link("eth7", 7, true);
    link("eth8", 8, true, "10.9.9.9");
    assert.deepEqual(told().sort(), ["addressed up", "named up"]);
    link("eth8", 8, false, "10.9.9.9");
    assert.deepEqual(told(), ["addressed down"]);
  });

  it("InterfaceSysctls restores at a read-back what somebody changed, and names it before", () => {
    endpoints.onUpdate(workload("a", NETS));
    link("calia", 5, true);
    apply();
    const path = "net/ipv4/conf/calia/proxy_arp";
    kernel.write(path, "0");
    const item = { kind: "sysctl", name: path, what: "changed", detail: "0 in place of 1" };
    assert.deepEqual(sysctls.inspect(kernel), [item]);
    assert.deepEqual(sysctls.apply(kernel, () => undefined).drift, []);
    sysctls.queueResync();
    assert.deepEqual(sysctls.apply(kernel, () => undefined).drift, [item]);
    assert.equal(kernel.read(path), "1");
    assert.deepEqual(sysctls.inspect(kernel), []);
  });

  it("HostSysctls names, once, what of connection tracking this kernel does not have", () => {
    const told: string[] = [];
    const host = new HostSysctls({ ipForwarding: true, ipv6Support: true });
    kernel.missing.add("net/netfilter/nf_conntrack_sctp_timeout_established");
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(
        host.apply(kernel, (message) => told.push(message)),
        { failures: [], drift: [] },
      );
      host.queueResync();
    }
    assert.equal(told.length, 1);
    assert.match(told[0] ?? "", /SCTP/);
    new HostSysctls({ ipForwarding: true, ipv6Support: true }).apply(new FakeSysctls(), (message) =>
      told.push(message),
    );
    assert.equal(told.length, 1, "nothing where all is there");
  });

  it("HostSysctls lets interfaces with an announced default route hear routers on, and says so", () => {
    const told: string[] = [];
    const host = new HostSysctls({ ipForwarding: true, ipv6Support: true });
    const link = (index: number, name: string) => ({ index, name }) as Link;
    const links = () => [link(1, "up0"), link(2, "up1"), link(3, "lan0"), link(4, "managed0")];
    const announced: Route[] = [
      { destination: "::/0", device: 1, protocol: 9 },
      { destination: "::/0", hops: [{ device: 2 }], protocol: 9 },
      { destination: "fd00::/64", device: 3, protocol: 9 },
      { destination: "::/0", device: 4, protocol: 9 },
    ];
    const path = (name: string) => `net/ipv6/conf/${name}/accept_ra`;
    for (const name of ["up0", "up1", "lan0"]) kernel.write(path(name), "1");
    const keep = (routes: () => Route[]): void =>
      host.keepAnnouncedRoutes(kernel, { links, routes }, (message) => told.push(message));
    keep(() => announced);
    assert.deepEqual(
      ["up0", "up1", "lan0", "managed0"].map((name) => kernel.read(path(name))),
      ["2", "2", "1", "0"],
    );
    assert.equal(told.length, 2);
    for (let i = 0; i < 2; i++)
      keep(() => {
        throw new Error("EBUSY");
      });
    assert.equal(told.length, 3);
    host.apply(kernel, () => undefined);
    keep(() => assert.fail("asked though nothing is due"));
  });

  it("HostSysctls turns forwarding on, tells once what it cannot set, and restores what somebody changed", () => {
    const told: string[] = [];
    const tell = (message: string): void => void told.push(message);
    const host = new HostSysctls({ ipForwarding: true, ipv6Support: true });
    assert.deepEqual(host.apply(kernel, tell), { failures: [], drift: [] });
    assert.ok(kernel.writes.includes("net/ipv4/ip_forward=1"));
    assert.ok(kernel.writes.includes("net/ipv6/conf/all/forwarding=1"));
    kernel.write("net/ipv4/ip_forward", "0");
    assert.deepEqual(host.apply(kernel, tell).drift, []);
    host.queueResync();
    assert.deepEqual(
      host.apply(kernel, tell).drift.map(({ name }) => name),
      ["net/ipv4/ip_forward"],
    );
    assert.equal(kernel.read("net/ipv4/ip_forward"), "1");
    const other = new FakeSysctls();
    other.failing = "ip_forward";
    const refused = new HostSysctls({ ipForwarding: true, ipv6Support: false });
    for (let i = 0; i < 2; i++) {
      refused.apply(other, tell);
      refused.queueResync();
    }
    assert.equal(told.length, 1);
    other.failing = undefined;
    other.write("net/ipv4/ip_forward", "0");
    other.failing = "ip_forward";
    refused.apply(other, tell);
    assert.match(refused.inspect(other)[0]?.detail ?? "", /^0 in place of 1, and cannot be set: \S/);
    other.failing = undefined;
    assert.deepEqual(
      refused.inspect(other).map(({ detail }) => /cannot be set/.test(detail)),
      [true],
    );
    refused.queueResync();
    refused.apply(other, tell);
    other.write("net/ipv4/ip_forward", "0");
    assert.deepEqual(
      refused.inspect(other).map(({ detail }) => detail),
      ["0 in place of 1"],
    );
    const off = new FakeSysctls();
    new HostSysctls({ ipForwarding: false, ipv6Support: true }).apply(off, tell);
    assert.deepEqual(off.writes, ["net/netfilter/nf_conntrack_acct=1"]);
  });
});
