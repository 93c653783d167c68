import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubernetesNodeResource } from "@bulrush/model";
import { convertKubernetesNode } from "./node.ts";
import { nodeAnnotations } from "./node-annotations.ts";

const KEY = "jlkVyQYooZYzI2wFfNhSZez5eWh44yfq1wKVjLvSXgY=";

function node(annotations: Readonly<Record<string, string>>, rest: Partial<KubernetesNodeResource> = {}) {
  const prefixed = Object.entries(annotations).map(([name, value]) => [`projectcalico.org/${name}`, value]);
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n", labels: { zone: "a" }, annotations: Object.fromEntries(prefixed) },
    ...rest,
  } satisfies KubernetesNodeResource;
}

test("convertKubernetesNode() reads the annotations", () => {
  const { resource, issues } = convertKubernetesNode(
    node(
      {
        IPv4Address: "1.2.3.4/24",
        IPv6Address: "fd00::4/64",
        ASNumber: "1.1",
        IPv4IPIPTunnelAddr: "10.0.0.1",
        IPv4VXLANTunnelAddr: "10.0.0.2",
        VXLANTunnelMACAddr: "66:00:00:00:00:01",
        IPv4WireguardInterfaceAddr: "10.0.0.3",
        WireguardPublicKey: KEY,
      },
      {
        spec: { podCIDR: "10.1.2.0/24" },
        status: {
          addresses: [
            { type: "InternalIP", address: "1.2.3.4" },
            { type: "Hostname", address: "n" },
          ],
        },
      },
    ),
    { usePodCIDR: false },
  );
  assert.deepEqual(issues, []);
  assert.deepEqual(resource.spec, {
    bgp: { ipv4Address: "1.2.3.4/24", ipv6Address: "fd00::4/64", asNumber: "65537", ipv4IPIPTunnelAddr: "10.0.0.1" },
    ipv4VXLANTunnelAddr: "10.0.0.2",
    vxlanTunnelMACAddr: "66:00:00:00:00:01",
    wireguard: { interfaceIPv4Address: "10.0.0.3" },
    orchRefs: [{ nodeName: "n", orchestrator: "k8s" }],
    addresses: [
      { address: "1.2.3.4/24", type: "CalicoNodeIP" },
      { address: "fd00::4/64", type: "CalicoNodeIP" },
      { address: "1.2.3.4", type: "InternalIP" },
    ],
  });
  assert.deepEqual(resource.status, { wireguardPublicKey: KEY, podCIDRs: ["10.1.2.0/24"] });
});

test("convertKubernetesNode() takes tunnel addresses from the pod CIDR when told to", () => {
  const spec = { podCIDRs: ["fd00:1::/64", "10.1.2.0/24"] };
  const { resource } = convertKubernetesNode(node({ WireguardPublicKey: KEY }, { spec }), { usePodCIDR: true });
  assert.equal(resource.spec?.bgp?.ipv4IPIPTunnelAddr, "10.1.2.1");
  assert.equal(resource.spec.wireguard?.interfaceIPv4Address, "10.1.2.1");
  const keyless = convertKubernetesNode(node({}, { spec }), { usePodCIDR: true });
  assert.equal(keyless.resource.spec?.wireguard, undefined);
});

test("convertKubernetesNode() takes the address of the pod CIDR before an annotation from other times", () => {
  const before = { IPv4IPIPTunnelAddr: "10.9.9.9", IPv4WireguardInterfaceAddr: "10.9.9.8", WireguardPublicKey: KEY };
  const spec = { podCIDRs: ["10.1.2.0/24"] };
  const { resource } = convertKubernetesNode(node(before, { spec }), { usePodCIDR: true });
  assert.equal(resource.spec?.bgp?.ipv4IPIPTunnelAddr, "10.1.2.1");
  assert.equal(resource.spec.wireguard?.interfaceIPv4Address, "10.1.2.1");
});

test("convertKubernetesNode() reads the host's interfaces, and writes them back", () => {
  const Interfaces = '[{"name":"eth0","addresses":["10.0.0.1","fd00::1"]}]';
  const { resource, issues } = convertKubernetesNode(node({ Interfaces }), { usePodCIDR: false });
  assert.deepEqual(issues, []);
  assert.deepEqual(resource.spec?.interfaces, [{ name: "eth0", addresses: ["10.0.0.1", "fd00::1"] }]);
  assert.equal(nodeAnnotations(resource, {})["projectcalico.org/Interfaces"], Interfaces);
  for (const bad of ["{", "{}", "[5]", '[{"name":5}]', '[{"name":"a","addresses":[5]}]']) {
    const left = convertKubernetesNode(node({ Interfaces: bad }), { usePodCIDR: false });
    assert.deepEqual([left.resource.spec?.interfaces, left.issues.length], [undefined, 1], bad);
  }
});

test("convertKubernetesNode() leaves out what is no good and says so", () => {
  const { resource, issues } = convertKubernetesNode(
    node({
      IPv4Address: "fd00::1/64",
      ASNumber: "x",
      RouteReflectorClusterID: "300.34.3.1",
      labels: "{",
      WireguardPublicKey: "k",
    }),
    { usePodCIDR: false },
  );
  assert.equal(resource.spec?.bgp, undefined);
  assert.equal(issues.length, 5);
  assert.ok(issues.every((issue) => issue.severity === "warning"));
});

test("convertKubernetesNode() overlays its own labels with those of Kubernetes", () => {
  const { resource } = convertKubernetesNode(node({ labels: '{"zone":"b","rack":"7"}' }), { usePodCIDR: false });
  assert.deepEqual(resource.metadata.labels, { zone: "a", rack: "7" });
});
