/** Policies spoilt at one place, of every kind: what goes out lets through nothing that the policy was meant to stop. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDefaults, isObject, type Policy, type Resource, validateResource } from "@bulrush/model";
import fc from "fast-check";
import { convertResources } from "../../convert-resources.ts";
import { isNoWider, type Packet, type Party, verdictOf } from "./reference-verdict.ts";

/** The long form tries other things each time; the short one always the same. */
const PARAMETERS = process.env["BULRUSH_LONG_TESTS"] === "1" ? { numRuns: 20_000 } : { numRuns: 500, seed: 1 };

const V3 = "projectcalico.org/v3";

function policy(apiVersion: string, kind: string, spec: object, namespace?: string): Resource {
  return { apiVersion, kind, metadata: { name: "p", ...(namespace !== undefined && { namespace }) }, spec };
}

const RULES = [
  {
    action: "Deny",
    protocol: "TCP",
    source: { selector: "app == 'bad'", notNets: ["10.9.0.0/16"], notSelector: "has(trusted)" },
    destination: { ports: [80, "8000:8100", "http"] },
  },
  {
    action: "Pass",
    ipVersion: 4,
    protocol: "TCP",
    notProtocol: "UDP",
    source: { namespaceSelector: "team == 'a'", selector: "has(app)" },
    destination: { notPorts: [81], nets: ["10.0.0.0/8"] },
  },
  { action: "Deny", protocol: "ICMP", icmp: { type: 8, code: 0 } },
  { action: "Log" },
  {
    action: "Allow",
    protocol: "TCP",
    source: { nets: ["10.1.0.0/16", "10.2.0.0/16"], serviceAccounts: { names: ["sa"], selector: "role == 'r'" } },
    destination: { ports: ["1:79", 80] },
  },
  {
    action: "Allow",
    protocol: "UDP",
    source: { namespaceSelector: "team == 'b'", notPorts: [5] },
    destination: { selector: "app == 'web'" },
  },
  { action: "Allow", protocol: "ICMP", notICMP: { type: 3 } },
];
const OUT = [
  { action: "Deny", destination: { services: { name: "svc", namespace: "shop" } } },
  { action: "Allow", destination: { services: { name: "svc2", namespace: "shop" } } },
  { action: "Allow", protocol: "TCP", destination: { nets: ["10.0.0.0/8"], notNets: ["10.1.0.0/16"], ports: [80] } },
];
const CALICO = { order: 5, selector: "app == 'web'", types: ["Ingress", "Egress"], ingress: RULES, egress: OUT };
const SELECTOR = {
  matchLabels: { app: "web" },
  matchExpressions: [
    { key: "app", operator: "In", values: ["web", "bad"] },
    { key: "old", operator: "DoesNotExist" },
  ],
};
const KUBERNETES = {
  podSelector: SELECTOR,
  policyTypes: ["Ingress", "Egress"],
  ingress: [
    {
      from: [
        { podSelector: { matchLabels: { app: "bad" } }, namespaceSelector: { matchLabels: { team: "a" } } },
        { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16", "10.2.0.0/16"] } },
      ],
      ports: [{ protocol: "TCP", port: 80, endPort: 90 }, { protocol: "UDP", port: 53 }, { port: "http" }],
    },
    { from: [{ namespaceSelector: { matchExpressions: [{ key: "team", operator: "NotIn", values: ["a"] }] } }] },
  ],
  egress: [{ to: [{ podSelector: { matchLabels: { app: "web" } } }], ports: [{ port: 81 }] }],
};
const PEERS = [{ pods: { namespaceSelector: { matchLabels: { team: "a" } }, podSelector: SELECTOR } }];
const CLUSTER = {
  tier: "Admin",
  priority: 7,
  subject: {
    pods: { namespaceSelector: { matchLabels: { team: "a" } }, podSelector: { matchLabels: { app: "web" } } },
  },
  ingress: [
    {
      name: "one",
      action: "Deny",
      from: [{ namespaces: { matchLabels: { team: "b" } } }],
      protocols: [
        { tcp: { destinationPort: { number: 80 } } },
        { udp: { destinationPort: { range: { start: 1, end: 99 } } } },
      ],
    },
    { action: "Pass", from: PEERS, protocols: [{ destinationNamedPort: "http" }] },
    { action: "Accept", from: PEERS, protocols: [{ tcp: { destinationPort: { number: 81 } } }] },
  ],
  egress: [
    { action: "Deny", to: [{ networks: ["10.1.0.0/16"] }] },
    { action: "Accept", to: [{ networks: ["10.2.0.0/16", "10.3.0.0/16"] }], protocols: [{ tcp: {} }] },
  ],
};

const MEANT: readonly Resource[] = [
  policy(V3, "NetworkPolicy", { ...CALICO, serviceAccountSelector: "role == 'r'" }, "shop"),
  policy(V3, "GlobalNetworkPolicy", { ...CALICO, namespaceSelector: "team == 'a'" }),
  policy(V3, "StagedNetworkPolicy", { ...CALICO, stagedAction: "Set" }, "shop"),
  policy(V3, "StagedKubernetesNetworkPolicy", { ...KUBERNETES, stagedAction: "Set" }, "shop"),
  policy("networking.k8s.io/v1", "NetworkPolicy", KUBERNETES, "shop"),
  policy("policy.networking.k8s.io/v1alpha2", "ClusterNetworkPolicy", CLUSTER),
];

/** What is written where something else should stand. Some of it is right in some places, none of it only in part. */
const SPOILT: readonly unknown[] = [
  null,
  "",
  " ",
  [],
  [null],
  [""],
  [[]],
  {},
  { x: 1 },
  { names: [] },
  { name: "" },
  true,
  false,
  0,
  -1,
  1.5,
  65_536,
  1e300,
  "x y",
  "(((",
  "global()",
  "10.0.0.0/33",
  "::/0",
  "80:70",
  "0",
  "constructor",
  "__proto__",
  JSON.parse('{"__proto__":{"a":1}}'),
];

type Place = readonly (string | number)[];

/** Every place below a value. */
function placesIn(value: unknown, path: Place = []): Place[] {
  if (typeof value !== "object" || value === null) return path.length === 0 ? [] : [path];
  const below = Object.entries(value).flatMap(([name, part]) =>
    placesIn(part, [...path, Array.isArray(value) ? Number(name) : name]),
  );
  return [path, ...below];
}

/** The value with another part at a place. */
function changed(value: unknown, [first, ...rest]: Place, change: (part: unknown) => unknown): unknown {
  if (first === undefined) return change(value);
  const below = changed((value as Record<string | number, unknown>)[first], rest, change);
  if (Array.isArray(value)) return value.map((item: unknown, i) => (i === first ? below : item));
  return { ...(value as object), [first]: below };
}

function withSurprise(part: unknown): unknown {
  return isObject(part) ? { ...part, surprise: 1 } : part;
}

interface Made {
  readonly policy: Policy | undefined;
  readonly isNamed: boolean;
}

function make(resource: Resource): Made {
  const { updates, problems } = convertResources([applyDefaults(resource)]);
  const found = updates.find(({ key }) => key.type === "Policy")?.value as Policy | undefined;
  return { policy: found, isNamed: problems.some(({ severity }) => severity === "error") };
}

function party(address: string, namespace: string, team: string, own: object, services: readonly string[] = []): Party {
  const labels = new Map(Object.entries(own as Record<string, string>));
  if (namespace !== "") {
    labels.set("projectcalico.org/namespace", namespace).set("projectcalico.org/orchestrator", "k8s");
    labels.set("projectcalico.org/serviceaccount", "sa").set("pcns.team", team).set("pcsa.role", "r");
  }
  return { address, labels, ports: new Map([["http", 8080]]), services };
}

const PARTIES: readonly Party[] = [
  party("10.1.0.1", "shop", "a", { app: "web" }, ["shop/svc"]),
  party("10.2.0.1", "shop", "a", { app: "bad" }, ["shop/svc2"]),
  party("10.3.0.1", "other", "b", { app: "web" }),
  party("10.4.0.1", "other", "b", { app: "bad", trusted: "x" }),
  party("10.9.0.1", "", "", { app: "bad" }),
  party("192.168.0.1", "", "", {}),
];

const packet: fc.Arbitrary<Packet> = fc.record({
  source: fc.constantFrom(...PARTIES),
  destination: fc.constantFrom(...PARTIES),
  protocol: fc.constantFrom(6, 17, 1, 132),
  sourcePort: fc.constantFrom(5, 40_000),
  destinationPort: fc.constantFrom(80, 81, 85, 53, 8080, 8050, 1000),
  icmpType: fc.constantFrom(8, 3),
  icmpCode: fc.constantFrom(0, 1),
});

const spoilt = fc.constantFrom(...MEANT).chain((meant) =>
  fc.record({
    meant: fc.constant(meant),
    place: fc.constantFrom(...placesIn(meant.spec)),
    part: fc.constantFrom(...SPOILT),
    isExtra: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  }),
);

/**
 * Validation refuses these, but what they say is clear: a rule with networks of both families, or of the one that its
 * version excludes, matches what fits.
 */
const CLEAR = /IPv[46] network/;

test("a policy with one unreadable place lets through nothing that it was meant to stop", () => {
  let closed = 0;
  fc.assert(
    fc.property(
      spoilt,
      fc.array(packet, { minLength: 20, maxLength: 20 }),
      fc.constantFrom("ingress" as const, "egress" as const),
      ({ meant, place, part, isExtra }, packets, direction) => {
        const spec = changed(meant.spec, place, isExtra ? withSurprise : () => part);
        const resource: Resource = { ...meant, spec };
        const { policy: found, isNamed } = make(resource);
        const refused = validateResource(resource).filter(({ message }) => !CLEAR.test(message));
        // What is right is another policy, which may let through what it likes.
        if (!isNamed && refused.length === 0) return;
        closed++;
        // A cluster policy of no tier or for nobody is none, as its API says.
        if (
          meant.kind === "ClusterNetworkPolicy" &&
          [undefined, "tier", "subject"].includes(place[0] as string) &&
          !found
        )
          return;
        const right = make(meant).policy;
        assert.ok(right !== undefined && found !== undefined, "The policy is gone");
        // Its tiers pass at their end, so that no match is as if it were not there.
        const isApart = meant.kind === "ClusterNetworkPolicy" ? "apart" : undefined;
        for (const one of packets) {
          const [is, should] = [verdictOf(found, one, direction), verdictOf(right, one, direction)];
          if (is === isApart && should === "continue") continue;
          assert.ok(isNoWider(is, should), `${is} instead of ${should}`);
        }
      },
    ),
    PARAMETERS,
  );
  assert.ok(closed > PARAMETERS.numRuns / 5, `only ${closed} policies were spoilt`);
});

test("the policies that are spoilt here are right without it", () => {
  for (const meant of MEANT) assert.deepEqual([validateResource(meant), make(meant).isNamed], [[], false], meant.kind);
});
