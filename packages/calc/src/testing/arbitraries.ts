import type { EndpointPort, IPPool, NodeResource, PolicyKey, Rule, Value } from "@bulrush/model";
import fc from "fast-check";
import {
  hostEndpoint,
  labelMap,
  networkSet,
  policy,
  profileLabels,
  profileRules,
  slice,
  tier,
  workload,
} from "./fixtures.ts";
import { HOST, type KV } from "./harness.ts";

/**
 * Random contents of a datastore. Everything comes from small pools, so that names meet, sets are shared, and things go
 * and come back.
 */

const labelName = fc.constantFrom("app", "role", "env");
const labelValue = fc.constantFrom("", "web", "db", "web-2");
const labels = fc.dictionary(labelName, labelValue, { maxKeys: 3 });

const term = fc.oneof(
  fc.constantFrom("all()", "global()"),
  labelName.map((name) => `has(${name})`),
  fc
    .tuple(labelName, fc.constantFrom("==", "!=", "contains", "starts with", "ends with"), labelValue)
    .map(([name, op, value]) => `${name} ${op} '${value}'`),
  fc
    .tuple(labelName, fc.constantFrom("in", "not in"), fc.uniqueArray(labelValue, { minLength: 1, maxLength: 2 }))
    .map(([name, op, values]) => `${name} ${op} {${values.map((value) => `'${value}'`).join(", ")}}`),
);

const selector: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: term },
  { weight: 1, arbitrary: term.map((one) => `!(${one})`) },
  {
    weight: 2,
    arbitrary: fc.tuple(term, fc.constantFrom("&&", "||"), term).map(([a, op, b]) => `(${a}) ${op} (${b})`),
  },
);

const net = fc.constantFrom("10.0.0.0/8", "10.0.0.0/24", "10.0.0.1/32", "fd00::/64", "0.0.0.0/0", "::/0");
const port = fc.constantFrom<(number | string)[]>(80, 443, "1000:2000", "web", "dns");
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 3 });

/** Conditions that validation would let through: ports only beside a protocol that has them. */
const rule: fc.Arbitrary<Rule> = fc
  .record({
    action: fc.constantFrom<NonNullable<Rule["action"]>[]>("allow", "deny", "log", "next-tier"),
    ip_version: optional(fc.constantFrom<(4 | 6)[]>(4, 6)),
    protocol: optional(fc.constantFrom("tcp", "udp", "sctp", "icmp")),
    "!protocol": optional(fc.constantFrom("tcp", "udp")),
    src_selector: optional(selector),
    dst_selector: optional(selector),
    "!src_selector": optional(selector),
    "!dst_selector": optional(selector),
    src_nets: optional(fc.uniqueArray(net, { minLength: 1, maxLength: 2 })),
    dst_nets: optional(fc.uniqueArray(net, { minLength: 1, maxLength: 2 })),
    "!src_nets": optional(fc.uniqueArray(net, { minLength: 1, maxLength: 2 })),
    src_ports: optional(fc.uniqueArray(port, { minLength: 1, maxLength: 2 })),
    dst_ports: optional(fc.uniqueArray(port, { minLength: 1, maxLength: 2 })),
    "!dst_ports": optional(fc.uniqueArray(port, { minLength: 1, maxLength: 2 })),
    dst_service: optional(fc.constantFrom("s1", "s2")),
    src_service: optional(fc.constantFrom("s1", "s2")),
  })
  .map(({ src_ports, dst_ports, ...rest }) => {
    const portless = rest.protocol === undefined || rest.protocol === "icmp";
    const draft: Record<string, unknown> = { ...rest, dst_service_ns: "default", src_service_ns: "default" };
    if (portless) delete draft["!dst_ports"];
    else Object.assign(draft, { src_ports, dst_ports });
    for (const [name, value] of Object.entries(draft)) if (value === undefined) delete draft[name];
    return draft as Rule;
  });

const rules = fc.array(rule, { maxLength: 3 });
const ports = fc.uniqueArray(
  fc.record<EndpointPort>({
    name: fc.constantFrom("web", "dns"),
    protocol: fc.constantFrom("tcp", "udp", "sctp"),
    port: fc.constantFrom(80, 53),
  }),
  { maxLength: 2 },
);
const profiles = fc.uniqueArray(fc.constantFrom("kns.a", "kns.b", "ksa.a.x"), { maxLength: 2 });
const addresses4 = fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 2 });
const addresses6 = fc.uniqueArray(fc.integer({ min: 1, max: 3 }), { maxLength: 1 });

const anyWorkload: fc.Arbitrary<KV> = fc
  .tuple(
    fc.integer({ min: 0, max: 4 }),
    fc.boolean(),
    fc.record({ labels, profile_ids: profiles, ports, v4: addresses4, v6: addresses6 }),
  )
  .map(([i, local, { v4, v6, ...value }]) =>
    workload(
      `w${i}`,
      {
        ...value,
        labels: labelMap(value.labels),
        ipv4_nets: v4.map((n) => `10.0.0.${n}/32`),
        ipv6_nets: v6.map((n) => `fd00::${n}/128`),
      },
      local ? undefined : "remote",
    ),
  );

const anyHostEndpoint: fc.Arbitrary<KV> = fc
  .tuple(fc.integer({ min: 0, max: 1 }), fc.record({ labels, profile_ids: profiles, ports, v4: addresses4 }))
  .map(([i, { v4, ...value }]) =>
    hostEndpoint(`h${i}`, {
      ...value,
      labels: labelMap(value.labels),
      expected_ipv4_addrs: v4.map((n) => `10.0.0.${n}`),
    }),
  );

const POLICIES: readonly (readonly [PolicyKey["kind"], string])[] = [
  ["GlobalNetworkPolicy", ""],
  ["NetworkPolicy", "a"],
  ["KubernetesNetworkPolicy", "a"],
  ["StagedNetworkPolicy", "a"],
];

const anyPolicy: fc.Arbitrary<KV> = fc
  .tuple(
    fc.constantFrom("p", "q"),
    fc.constantFrom(...POLICIES),
    fc.record({
      selector,
      tier: fc.constantFrom("default", "t1", "t2"),
      order: fc.constantFrom(undefined, 1, 2),
      inbound_rules: rules,
      outbound_rules: rules,
      types: fc.constantFrom([], ["ingress"], ["egress"], ["ingress", "egress"]),
      special: fc.constantFrom({}, {}, { untracked: true }, { pre_dnat: true }, { apply_on_forward: true }),
      hinted: fc.integer({ min: 0, max: 5 }),
    }),
  )
  .map(([name, [kind, namespace], { special, hinted, order, ...value }]) =>
    policy(
      name,
      {
        ...value,
        ...special,
        ...(order !== undefined && { order }),
        ...(hinted === 0 && { performance_hints: ["AssumeNeededOnEveryNode"] }),
      },
      kind,
      namespace,
    ),
  );

const anyTier: fc.Arbitrary<KV> = fc
  .tuple(
    fc.constantFrom("default", "t1", "t2"),
    fc.constantFrom(undefined, 1, 2),
    fc.constantFrom<("Deny" | "Pass")[]>("Deny", "Pass"),
  )
  .map(([name, order, defaultAction]) => tier(name, { defaultAction, ...(order !== undefined && { order }) }));

const profileName = fc.constantFrom("kns.a", "kns.b", "ksa.a.x");

const hostName = fc.constantFrom(HOST, "remote", "other");

const anyNode: fc.Arbitrary<KV> = fc
  .tuple(
    hostName,
    fc.constantFrom(undefined, "192.168.0.1/24", "192.168.0.2/24", "10.0.0.3/32"),
    fc.constantFrom(undefined, "10.0.0.4"),
    fc.constantFrom(undefined, "192.168.0.9", "fd00::9"),
  )
  .map(([name, ipv4Address, tunnelAddress, internal]) => {
    const value: NodeResource = {
      apiVersion: "projectcalico.org/v3",
      kind: "Node",
      metadata: { name },
      spec: {
        ...(ipv4Address && { bgp: { ipv4Address } }),
        ...(tunnelAddress && { ipv4VXLANTunnelAddr: tunnelAddress }),
        ...(internal && { addresses: [{ address: internal, type: "InternalIP" as const }] }),
      },
    };
    return { key: { type: "Resource", kind: "Node", namespace: "", name }, value };
  });

const anyPool: fc.Arbitrary<KV> = fc
  .record({
    cidr: fc.constantFrom("10.0.0.0/8", "10.0.0.0/16", "192.168.0.0/24", "fd00::/64"),
    vxlan_mode: fc.constantFrom<IPPool["vxlan_mode"][]>("", "always", "cross-subnet"),
    masquerade: fc.boolean(),
    allowed_uses: fc.constantFrom(["Workload"], ["LoadBalancer"]),
  })
  .map((fields) => ({
    key: { type: "IPPool", cidr: fields.cidr },
    value: {
      ipip: "",
      ipip_mode: "",
      ipam: true,
      disabled: false,
      disableBGPExport: false,
      assignment_mode: "Automatic",
      ...fields,
    },
  }));

const anyBlock: fc.Arbitrary<KV> = fc
  .tuple(
    fc.constantFrom("10.0.0.0/29", "10.0.0.8/29", "fd00::/125"),
    fc.option(hostName, { nil: undefined }),
    fc.array(fc.option(fc.nat({ max: 2 })), { minLength: 8, maxLength: 8 }),
  )
  .map(([cidr, owner, allocations]) => ({
    key: { type: "Block", cidr },
    value: {
      cidr,
      ...(owner !== undefined && { affinity: `host:${owner}` }),
      allocations,
      unallocated: [],
      attributes: [HOST, "remote", "other"].map((node) => ({ secondary: { node } })),
    },
  }));

const anyTunnel: fc.Arbitrary<KV> = hostName.map((hostname) => ({
  key: { type: "HostConfig", hostname, name: "IPv4VXLANTunnelAddr" },
  value: "10.0.0.4",
}));

/** One key with one value. */
export const anyKV: fc.Arbitrary<KV> = fc.oneof(
  { weight: 6, arbitrary: anyWorkload },
  { weight: 2, arbitrary: anyHostEndpoint },
  { weight: 6, arbitrary: anyPolicy },
  { weight: 2, arbitrary: anyTier },
  { weight: 2, arbitrary: anyNode },
  { weight: 1, arbitrary: anyPool },
  { weight: 2, arbitrary: anyBlock },
  { weight: 1, arbitrary: anyTunnel },
  { weight: 2, arbitrary: fc.tuple(profileName, labels).map(([name, map]) => profileLabels(name, map)) },
  { weight: 2, arbitrary: fc.tuple(profileName, rules, rules).map(([name, a, b]) => profileRules(name, a, b)) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom("n1", "a/n2"), fc.uniqueArray(net, { maxLength: 3 }), labels)
      .map(([name, nets, map]) => networkSet(name, nets, map)),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom("e1", "e2"), fc.constantFrom("s1", "s2"), addresses4)
      .map(([name, service, ids]) =>
        slice(
          name,
          service,
          ids.map((n) => `10.0.0.${n}`),
        ),
      ),
  },
);

/** What may happen: a key gets a value, one changes in a few fields, one loses its value, the graph is flushed. */
export type Step =
  | { readonly set: KV }
  | { readonly change: number; readonly like: KV; readonly fields: number }
  | { readonly drop: number }
  | { readonly flush: true };

/** The place of a key among those that are there. */
const place = fc.nat({ max: 30 });

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: anyKV.map((set) => ({ set })) },
    {
      weight: 6,
      arbitrary: fc
        .tuple(place, anyKV, fc.integer({ min: 1, max: 0xffff }))
        .map(([change, like, fields]) => ({ change, like, fields })),
    },
    { weight: 2, arbitrary: place.map((drop) => ({ drop })) },
    { weight: 2, arbitrary: fc.constant({ flush: true as const }) },
  ),
  // The library's own sizes would give five.
  { maxLength: 60, size: "max" },
);

/** Values whose fields belong together. */
const UNMIXED: ReadonlySet<string> = new Set(["Resource", "Block", "IPPool"]);

/** `kv` with some of its fields as in `like`; `undefined` when they are not of one type. */
export function changed(kv: KV, like: KV, fields: number): KV | undefined {
  const { value } = kv;
  const isPlain = typeof value === "object" && typeof like.value === "object" && !(value instanceof Map);
  if (kv.key.type !== like.key.type || !isPlain || UNMIXED.has(kv.key.type)) return undefined;
  const next: Record<string, unknown> = {};
  Object.assign(next, value);
  const names = [...new Set([...Object.keys(value), ...Object.keys(like.value)])].sort();
  for (const [i, name] of names.entries()) {
    if (((fields >> i) & 1) === 0) continue;
    const given = (like.value as unknown as Record<string, unknown>)[name];
    if (given === undefined) delete next[name];
    else next[name] = given;
  }
  return { key: kv.key, value: next as unknown as Value };
}
