import { GATE_POLICY } from "./world.ts";

/** Who gets through to `edge/gate`, as `client port`; the others do not. */
type Reach = readonly ("alice 8080" | "alice 8081" | "bob 8080" | "bob 8081")[];

/** A piece of bad input as it comes into the directory. */
export interface BadManifest {
  readonly name: string;
  /** Written into the directory, by name. The names that stood there before come back afterwards. */
  readonly files: Readonly<Record<string, string | Buffer>>;
  /** Problems that must be named: in the admin API and in the log. */
  readonly named: readonly RegExp[];
  /** Default: as without it. */
  readonly reach?: Reach;
}

/** What the gate's policy says: alice on 8080. */
export const USUAL: Reach = ["alice 8080"];

const HEAD = "apiVersion: projectcalico.org/v3\nkind: NetworkPolicy\nmetadata: {name: bad, namespace: edge}\n";

/** A policy before the gate's own, with one ingress rule and perhaps more fields. */
function early(rule: string, more = ""): string {
  return `${HEAD}spec:\n  order: 5\n  selector: name == 'gate'\n  types: [Ingress]\n${more}  ingress:\n  - ${rule}\n`;
}

const ALL = "action: Allow";
const TCP_8080 = "protocol: TCP, destination: {ports: [8080]}";

/** Text that YAML readers choke on, of any size. */
function nested(levels: number): string {
  return `${"[".repeat(levels)}${"]".repeat(levels)}`;
}

function garbage(bytes: number): Buffer {
  let state = 1;
  return Buffer.from(Array.from({ length: bytes }, () => (state = (state * 48_271) % 0x7fffffff) & 0xff));
}

const ALIASES = ["a: &a [x, x, x, x, x, x, x, x, x]"]
  .concat("bcdefghi".split("").map((name, i) => `${name}: &${name} [${`*${"abcdefgh"[i]}, `.repeat(9)}]`))
  .join("\n");

/** Every way in which a manifest can be wrong. All are about `edge/gate`, or about nothing. */
export const BAD_MANIFESTS: readonly BadManifest[] = [
  {
    name: "YAML that is none",
    files: { "broken.yaml": "kind: NetworkPolicy\n  metadata: [\n" },
    named: [/^broken\.yaml:\d+: Cannot read this document: /],
  },
  {
    name: "half of a JSON file",
    files: { "half.json": '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1"' },
    named: [/^half\.json:1: Cannot read this document: /],
  },
  {
    name: "unknown kinds",
    files: {
      "kind.yaml": `${HEAD.replace("kind: NetworkPolicy", "kind: NetworkPolicies")}---\napiVersion: apps/v1\nkind: Deployment\n`,
    },
    named: [
      /^kind\.yaml:2: .*kind: Unknown kind "NetworkPolicies"/,
      /^kind\.yaml:6.*Unknown kind "Deployment".*ignored/,
    ],
  },
  {
    name: "a bad CIDR in an allow rule: it matches nothing",
    files: { "allow.yaml": early(`{${ALL}, source: {nets: [10.0.0.0/8, 10.65.0.0/99]}}`) },
    named: [
      /^allow\.yaml:1: NetworkPolicy edge\/bad: spec\.ingress\[0\]\.source\.nets\[1\]: .*10\.65\.0\.0\/99.*closed/,
    ],
  },
  {
    name: "a bad CIDR in a deny rule: it denies all that its other fields match",
    files: { "deny.yaml": early(`{action: Deny, ${TCP_8080}, source: {nets: [1.2.3]}}`) },
    named: [/^deny\.yaml:1: NetworkPolicy edge\/bad: spec\.ingress\[0\]\.source\.nets\[0\]: .*closed/],
    reach: [],
  },
  {
    name: "a bad CIDR in notNets of an allow rule",
    files: { "not-allow.yaml": early(`{${ALL}, source: {notNets: [10.65.1.22/x]}}`) },
    named: [/^not-allow\.yaml:1: NetworkPolicy edge\/bad: spec\.ingress\[0\]\.source\.notNets\[0\]/],
  },
  {
    name: "a bad CIDR in notNets of a deny rule",
    files: { "not-deny.yaml": early("{action: Deny, source: {notNets: [everything]}}") },
    named: [/^not-deny\.yaml:1: NetworkPolicy edge\/bad: spec\.ingress\[0\]\.source\.notNets\[0\]/],
    reach: [],
  },
  {
    name: "an unparsable selector of a new policy: closed for its whole namespace",
    files: { "selector.yaml": early(ALL).replace("name == 'gate'", "name = gate") },
    named: [/^selector\.yaml:1: NetworkPolicy edge\/bad: spec\.selector: .*closed/],
  },
  {
    name: "an unparsable selector of a new policy that denies",
    files: { "selector.yaml": early(`{action: Deny, ${TCP_8080}}`).replace("name == 'gate'", "has(") },
    named: [/^selector\.yaml:1: NetworkPolicy edge\/bad: spec\.selector: .*closed/],
    reach: [],
  },
  {
    name: "an unparsable selector in an allow rule",
    files: { "rule.yaml": early(`{${ALL}, source: {selector: "name in {'bob'"}}`) },
    named: [/^rule\.yaml:1: NetworkPolicy edge\/bad: spec\.ingress\[0\]\.source\.selector/],
  },
  {
    name: "an unparsable selector of a global policy: closed for everybody, and no allowed flow is cut",
    files: {
      "global.yaml": early(ALL)
        .replace("NetworkPolicy", "GlobalNetworkPolicy")
        .replace(", namespace: edge", "")
        .replace("name == 'gate'", "name = gate"),
    },
    named: [/^global\.yaml:1: GlobalNetworkPolicy bad: spec\.selector: .*closed/],
  },
  {
    name: "a field that we do not know: everything is denied",
    files: { "field.yaml": early(ALL, "  ingres: []\n") },
    named: [/^field\.yaml:1: NetworkPolicy edge\/bad: spec\.ingres: Unknown field.*closed/],
    reach: [],
  },
  {
    name: "a Kubernetes policy with a bad operator",
    files: {
      "k8s.yaml": `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: bad, namespace: edge}
spec: {podSelector: {matchExpressions: [{key: name, operator: Like, values: [gate]}]}, ingress: [{}]}
`,
    },
    named: [/^k8s\.yaml:1: NetworkPolicy edge\/bad: spec\.podSelector.*closed/],
  },
  {
    name: "a tier whose order is text: last, and not open",
    files: {
      "tier.yaml": `apiVersion: projectcalico.org/v3
kind: Tier
metadata: {name: early}
spec: {order: first}
---
${early(ALL, "  tier: early\n")}`,
    },
    named: [/^tier\.yaml:1: Tier early: spec\.order: .*"first".*closed/],
  },
  {
    name: "a policy and a tier that were good",
    files: { "gate.yaml": GATE_POLICY.replace("name == 'alice'", "name == 'bob' ||").replace("100", "many") },
    named: [
      /^gate\.yaml:1: NetworkPolicy edge\/gate: spec\.ingress\[0\]\.source\.selector: .*the last good version stays in force/,
      /^gate\.yaml:1: NetworkPolicy edge\/gate: spec\.order: .*the last good version stays in force/,
    ],
  },
  {
    name: "a good file that breaks",
    files: { "gate.yaml": `${GATE_POLICY}  - {action: Allow\n` },
    named: [/^gate\.yaml:\d+: Cannot read.*the last good contents of the file stay in force/],
  },
  {
    name: "a good policy under a group that is misspelt",
    files: { "gate.yaml": GATE_POLICY.replace("projectcalico.org", "project-calico.org") },
    named: [
      /^gate\.yaml:2: NetworkPolicy edge\/gate: kind: Unknown kind.*last good contents of the file stay in force/,
    ],
  },
  {
    name: "a list whose items are misspelt",
    files: { "gate.yaml": `apiVersion: v1\nkind: List\nitem:\n- ${GATE_POLICY.replaceAll("\n", "\n  ")}` },
    named: [
      /^gate\.yaml:1: List: items: Expected a list, found nothing; the last good contents of the file stay in force/,
    ],
  },
  {
    name: "a good file that becomes garbage",
    files: { "gate.yaml": garbage(100_000) },
    named: [/^gate\.yaml: Not UTF-8 text; the last good contents of the file stay in force/],
  },
  {
    name: "one object in two files",
    files: { "zz.yaml": GATE_POLICY.replace("source: {selector: name == 'alice'}", "source: {}") },
    named: [/^zz\.yaml:1: NetworkPolicy edge\/gate: Already defined in gate\.yaml:1; ignored/],
  },
  {
    name: "a file of 20 MB",
    files: { "huge.yaml": Buffer.alloc(20_000_000, `# ${HEAD}`) },
    named: [/^huge\.yaml: The file has 20000000 bytes, more than 16777216/],
  },
  {
    name: "binary garbage",
    files: { "garbage.yaml": garbage(50_000), "garbage.json": garbage(5000) },
    named: [/^garbage\.yaml: Not UTF-8 text/, /^garbage\.json: Not UTF-8 text/],
  },
  {
    name: "what nests without end, and what multiplies",
    files: { "deep.yaml": `a: ${nested(3000)}`, "deep.json": nested(100_000), "aliases.yaml": ALIASES },
    named: [
      /^deep\.yaml:1: Cannot read this document/,
      /^deep\.json:1: Cannot read this document: Nested too deep/,
      /^aliases\.yaml:1: Cannot read this document: .*alias/,
    ],
  },
  {
    name: "settings and objects of other kinds",
    files: {
      "config.yaml": `apiVersion: projectcalico.org/v3
kind: FelixConfiguration
metadata: {name: default}
spec: {logSeverityScreen: Loud, iptablesRefreshInterval: soon, interfacePrefix: 5, failsafeInboundHostPorts: all}
`,
      "ready.yaml": `apiVersion: projectcalico.org/v3
kind: ClusterInformation
metadata: {name: default}
spec: {datastoreReady: perhaps}
`,
      "pool.yaml": `apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: bad}
spec: {cidr: 10.65.0.0/99, ipipMode: Sometimes}
`,
      "node.yaml": `apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: host-x}
spec: {bgp: {ipv4Address: nowhere}}
`,
      "pod.yaml": `apiVersion: v1
kind: Pod
metadata: {name: bad, namespace: edge, labels: {name: alice}}
spec: {nodeName: host-a, containers: []}
status: {phase: Running, podIPs: [{ip: 10.65.1.999}]}
`,
      "endpoint.yaml": `apiVersion: projectcalico.org/v3
kind: HostEndpoint
metadata: {name: bad}
spec: {interfaceName: eth0, expectedIPs: [here]}
`,
      "namespace.yaml": `apiVersion: v1
kind: Namespace
metadata: {name: bad, labels: {open: true}}
`,
      "profile.yaml": `apiVersion: projectcalico.org/v3
kind: Profile
metadata: {name: bad}
spec: {ingress: [{action: Allow, source: {selector: "name ="}}]}
`,
    },
    named: [
      /^config\.yaml:1: FelixConfiguration default: spec\.interfacePrefix: Not usable: 5/,
      /^config\.yaml:1: FelixConfiguration default: spec\.iptablesRefreshInterval: Not usable: "soon"/,
      /^config\.yaml:1: FelixConfiguration default: spec\.failsafeInboundHostPorts/,
      /^ready\.yaml:1: ClusterInformation default: spec\.datastoreReady: .*the last good version stays in force/,
      /^pool\.yaml:1: IPPool bad: .*10\.65\.0\.0\/99/,
      /^node\.yaml:1: Node host-x: .*nowhere/,
      /^pod\.yaml:1: Pod edge\/bad: .*10\.65\.1\.999/,
      /^endpoint\.yaml:1: HostEndpoint bad: spec\.node/,
      /^namespace\.yaml:3: Namespace bad: metadata\.labels\.open: .*quote it/,
      /^profile\.yaml:1: Profile bad: spec\.ingress\[0\]\.source\.selector/,
    ],
  },
  {
    name: "values that no agent could read",
    files: {
      "poison.yaml": `%YAML 1.1
---
apiVersion: v1
kind: Service
metadata: {name: a, namespace: edge}
spec: {ports: [{port: 80}], odd: !!binary aGVsbG8=}
---
apiVersion: v1
kind: Service
metadata: {name: b, namespace: edge}
spec: {ports: [{port: 80}], odd: ${nested(60)}}
---
apiVersion: v1
kind: Service
metadata: {name: c, namespace: edge}
spec: {ports: eighty}
`,
    },
    named: [
      /^poison\.yaml:6 \(document 1\): |^poison\.yaml:6: .*plain data/,
      /^poison\.yaml:11 \(document 2\): .*Nested too deep/,
      /^poison\.yaml:\d+ \(document 3\): Service edge\/c: .*ports.*Expected a list/,
    ],
  },
];
