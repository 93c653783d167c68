import assert from "node:assert/strict";
import { test } from "node:test";
import { formatKey, type Resource } from "@bulrush/model";
import { processor, run, kvs, convert } from "./processor-harness.ts";

const NODE_SPEC = {
  bgp: { ipv4IPIPTunnelAddr: "10.0.0.1", ipv4Address: "1.2.3.4/24" },
  ipv4VXLANTunnelAddr: "10.0.0.2",
  vxlanTunnelMACAddr: "66:00:00:00:00:01",
  ipv6VXLANTunnelAddr: "fd00::2",
  vxlanTunnelMACAddrV6: "66:00:00:00:00:02",
  wireguard: { interfaceIPv4Address: "10.0.0.3" },
};
const PUBLIC_KEY = "jlkVyQYooZYzI2wFfNhSZez5eWh44yfq1wKVjLvSXgY=";

test("Node: five host settings, WireGuard, and the node", () => {
  const out = convert("Node", "n", { spec: NODE_SPEC, status: { wireguardPublicKey: PUBLIC_KEY } });
  assert.deepEqual((out["/calico/resources/v3/projectcalico.org/nodes/n"] as Resource).spec, NODE_SPEC);
  delete out["/calico/resources/v3/projectcalico.org/nodes/n"];
  assert.deepEqual(out, {
    "/calico/v1/host/n/config/IpInIpTunnelAddr": "10.0.0.1",
    "/calico/v1/host/n/config/IPv4VXLANTunnelAddr": "10.0.0.2",
    "/calico/v1/host/n/config/VXLANTunnelMACAddr": "66:00:00:00:00:01",
    "/calico/v1/host/n/config/IPv6VXLANTunnelAddr": "fd00::2",
    "/calico/v1/host/n/config/VXLANTunnelMACAddrV6": "66:00:00:00:00:02",
    "/calico/v1/host/n/wireguard": { interfaceIPv4Addr: "10.0.0.3", publicKey: PUBLIC_KEY },
  });
});

test("Node: an unusable tunnel address or key is left out, and with it the node, which is not valid", () => {
  const spec = { ...NODE_SPEC, ipv4VXLANTunnelAddr: "10.0.0.2/24" };
  const result = run(processor("Node"), "Node", "n", { spec, status: { wireguardPublicKey: "short" } });
  const out = kvs(result);
  assert.equal(out["/calico/v1/host/n/config/IPv4VXLANTunnelAddr"], undefined);
  assert.equal(out["/calico/v1/host/n/config/IpInIpTunnelAddr"], "10.0.0.1");
  assert.deepEqual(out["/calico/v1/host/n/wireguard"], { interfaceIPv4Addr: "10.0.0.3" });
  assert.equal(out["/calico/resources/v3/projectcalico.org/nodes/n"], undefined);
  assert.deepEqual(
    result.issues.slice(0, 2).map((issue) => issue.field),
    ["spec.ipv4VXLANTunnelAddr", "status.wireguardPublicKey"],
  );
});

test("Node: an address of the other family is left out, and what is beside it stays", () => {
  const spec = {
    bgp: { ipv4IPIPTunnelAddr: "fd00::1" },
    ipv4VXLANTunnelAddr: "fd00::2",
    ipv6VXLANTunnelAddr: "10.0.0.2",
    wireguard: { interfaceIPv4Address: "fd00::3", interfaceIPv6Address: "fd00::4" },
  };
  const out = convert("Node", "n", { spec, status: { wireguardPublicKey: PUBLIC_KEY } });
  assert.deepEqual(out["/calico/v1/host/n/wireguard"], { publicKey: PUBLIC_KEY, interfaceIPv6Addr: "fd00::4" });
  for (const name of ["IpInIpTunnelAddr", "IPv4VXLANTunnelAddr", "IPv6VXLANTunnelAddr"])
    assert.equal(out[`/calico/v1/host/n/config/${name}`], undefined, name);
});

test("Node: a delete takes all of it away", () => {
  const out = kvs(run(processor("Node"), "Node", "n", undefined));
  assert.equal(Object.keys(out).length, 7);
  assert.ok(Object.values(out).every((value) => value === undefined));
});

test("Node: pod CIDRs become blocks, and what vanished is deleted; a resync is the watcher cache's", () => {
  const on = processor("Node", true);
  const blocks = (cidrs: readonly string[] | undefined): unknown => {
    const result = run(on, "Node", "n", cidrs === undefined ? undefined : { spec: {}, status: { podCIDRs: cidrs } });
    const found = result.outputs.filter(({ key }) => key.type === "Block");
    return found.map(({ key, value }) => [formatKey(key).split("/").at(-1), value !== undefined]);
  };
  assert.deepEqual(blocks(["10.1.0.0/24", "10.2.0.0/24"]), [
    ["10.1.0.0-24", true],
    ["10.2.0.0-24", true],
  ]);
  assert.deepEqual(blocks(["10.2.0.0/24"]), [
    ["10.1.0.0-24", false],
    ["10.2.0.0-24", true],
  ]);
  assert.deepEqual(blocks(undefined), [["10.2.0.0-24", false]]);
  blocks(["10.1.0.0/24"]);
  on.onSyncerStarting();
  assert.deepEqual(blocks(["10.2.0.0/24"]), [["10.2.0.0-24", true]]);
});

test("Node: a network that went to another node stays when the first one goes", () => {
  const on = processor("Node", true);
  const blocks = (name: string, cidrs: readonly string[] | undefined): unknown => {
    const result = run(on, "Node", name, cidrs && { spec: {}, status: { podCIDRs: cidrs } });
    return result.outputs
      .filter(({ key }) => key.type === "Block")
      .map(({ value }) => (value as { affinity?: string } | undefined)?.affinity);
  };
  assert.deepEqual(blocks("a", ["10.1.0.0/24"]), ["host:a"]);
  assert.deepEqual(blocks("b", ["10.1.0.0/24"]), ["host:b"]);
  assert.deepEqual(blocks("a", undefined), []);
  assert.deepEqual(blocks("b", undefined), [undefined]);
});
