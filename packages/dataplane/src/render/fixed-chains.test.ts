import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { BaseChain } from "@bulrush/nftables";
import type { ToDataplane } from "@bulrush/proto";
import { encapsulation, hostEndpoint, tunnelEnd, workload } from "../testing/messages.ts";
import { renderRuleset } from "./render-ruleset.ts";

/** The base chains of both families, where there is something to decide at each. */
const BASE_CHAINS: Readonly<Record<string, Omit<BaseChain, "policy">>> = {
  "raw-PREROUTING": { type: "filter", hook: "prerouting", priority: -300 },
  "raw-OUTPUT": { type: "filter", hook: "output", priority: -300 },
  "mangle-PREROUTING": { type: "filter", hook: "prerouting", priority: -150 },
  "mangle-POSTROUTING": { type: "filter", hook: "postrouting", priority: -150 },
  // Ahead of filter: host endpoint policy judges where a packet really goes.
  "nat-PREROUTING": { type: "nat", hook: "prerouting", priority: -100 },
  "nat-OUTPUT": { type: "nat", hook: "output", priority: -100 },
  "filter-INPUT": { type: "filter", hook: "input", priority: 0 },
  "filter-FORWARD": { type: "filter", hook: "forward", priority: 0 },
  "filter-OUTPUT": { type: "filter", hook: "output", priority: 0 },
  // Behind kube-proxy's at 100, whose marks for masquerade would be of no use otherwise.
  "nat-POSTROUTING": { type: "nat", hook: "postrouting", priority: 110 },
};

const floating = (internal: string, external: string) => [{ ext_ip: external, int_ip: internal }];
const WORLD: readonly ToDataplane[] = [
  hostEndpoint("eth0", { name: "eth0" }),
  encapsulation({ vxlan_enabled: true, vxlan_enabled_v6: true }),
  tunnelEnd("oak", "10.65.0.0, 66:00:00:00:00:0a, 192.168.0.1", "fd65::, 66:00:00:00:00:0a, fd00::1"),
  workload("a", {
    ipv4_nets: ["10.65.0.2/32"],
    ipv6_nets: ["fd65::2/128"],
    ipv4_nat: floating("10.65.0.2", "198.51.100.1"),
    ipv6_nat: floating("fd65::2", "2001:db8::1"),
  }),
];

function baseChains(messages: readonly ToDataplane[], table: string): Record<string, BaseChain> {
  const tables = renderRuleset(messages, new Map([["FloatingIPs", "Enabled"]]));
  const found = tables.find(({ family, name }) => `${family} ${name}` === table);
  const chains = [...(found?.chains.values() ?? [])];
  return Object.fromEntries(chains.flatMap(({ base, name }) => (base === undefined ? [] : [[name, base]])));
}

describe("the base chains", () => {
  for (const family of ["ip", "ip6"] as const)
    it(`hang on the hooks and at the priorities that they must have: ${family}`, () => {
      const wanted = Object.entries(BASE_CHAINS).map(([name, base]) => [name, { ...base, policy: "accept" }]);
      assert.deepEqual(baseChains(WORLD, `${family} calico`), Object.fromEntries(wanted));
    });

  it("are those of packets that come in and pass alone, on a host of plain workloads", () =>
    assert.deepEqual(Object.keys(baseChains([workload("a")], "ip calico")).sort(), [
      "filter-FORWARD",
      "filter-INPUT",
      "raw-PREROUTING",
    ]));

  it("of ARP is one, in a table of its own", () =>
    assert.deepEqual(baseChains(WORLD, "arp calico-arp"), {
      "filter-OUTPUT": { type: "filter", hook: "output", priority: 0, policy: "accept" },
    }));
});
