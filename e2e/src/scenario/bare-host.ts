import { parseAddress } from "@bulrush/ip";
import { CALICO_V3, type Resource } from "@bulrush/model";
import type { HostPlan } from "../lab/plan.ts";
import { type Expected, LoneAgent } from "./lone-agent.ts";
import { required } from "./required.ts";
import type { Scenario } from "./scenario.ts";

const HOSTS: readonly [HostPlan, ...HostPlan[]] = [
  host("bare", "192.0.2.1"),
  host("friend", "192.0.2.2"),
  host("stranger", "192.0.2.3"),
];
/** Served by everybody. 22 and 2379 are failsafe ports, 53 is one for UDP that leaves. */
export const TCP_PORTS = [22, 2379, 80, 8080, 8081] as const;
const UDP_PORTS = [53, 5000] as const;

function host(name: string, address: string): HostPlan {
  return { name, addresses: [required(parseAddress(address), address)] };
}

function calico(kind: string, name: string, spec: object, labels: Readonly<Record<string, string>> = {}): Resource {
  return { apiVersion: CALICO_V3, kind, metadata: { name, labels }, spec };
}

const ENDPOINT: Resource = calico(
  "HostEndpoint",
  "bare-eth0",
  { node: "bare", interfaceName: "eth0" },
  { role: "bare" },
);

function policy(name: string, spec: object): Resource {
  return calico("GlobalNetworkPolicy", name, { selector: "role == 'bare'", ...spec });
}

const from = (peer: string, port: number): object => ({
  action: "Allow",
  protocol: "TCP",
  source: { nets: [peer === "friend" ? "192.0.2.2/32" : "192.0.2.3/32"] },
  destination: { ports: [port] },
});

const normal = (peer: string): Resource =>
  policy("normal", {
    order: 10,
    types: ["Ingress", "Egress"],
    ingress: [from(peer, 80)],
    egress: [{ action: "Allow" }],
  });

/** Without a flow that is known, the answers need a rule of their own. */
function untracked(withAnswers: boolean): Resource {
  const answers = { action: "Allow", protocol: "TCP", source: { ports: [8080] } };
  return policy("untracked", {
    order: 5,
    types: ["Ingress", "Egress"],
    doNotTrack: true,
    applyOnForward: true,
    ingress: [from("friend", 8080)],
    egress: withAnswers ? [answers] : [],
  });
}

const preDNAT: Resource = policy("pre-dnat", {
  order: 5,
  types: ["Ingress"],
  preDNAT: true,
  applyOnForward: true,
  ingress: [{ action: "Deny", source: { nets: ["192.0.2.2/32"] } }],
});

/** What the peers reach on the host by TCP beside the failsafes, as `peer:port`, and whether the host reaches out. */
export interface Step {
  readonly name: string;
  readonly resources: readonly Resource[];
  readonly open: readonly string[] | "everything";
  readonly out: boolean;
  /** `peer:port` of flows that begin and get no answer. */
  readonly unanswered?: readonly string[];
}

export const STEPS: readonly Step[] = [
  { name: "nothing is there", resources: [], open: "everything", out: true },
  { name: "an endpoint without policy", resources: [ENDPOINT], open: [], out: false },
  { name: "a normal policy", resources: [ENDPOINT, normal("friend")], open: ["friend:80"], out: true },
  { name: "the policy is edited", resources: [ENDPOINT, normal("stranger")], open: ["stranger:80"], out: true },
  {
    name: "an untracked policy beside it",
    resources: [ENDPOINT, normal("stranger"), untracked(true)],
    open: ["stranger:80", "friend:8080"],
    out: true,
  },
  {
    name: "an untracked policy without a rule for the answers, which end as the flow is not known",
    resources: [ENDPOINT, normal("stranger"), untracked(false)],
    open: ["stranger:80"],
    out: true,
    unanswered: ["friend:8080"],
  },
  {
    name: "a policy before DNAT denies what the normal one allows",
    resources: [ENDPOINT, normal("friend"), preDNAT],
    open: [],
    out: true,
  },
  { name: "it is taken away", resources: [ENDPOINT, normal("friend")], open: ["friend:80"], out: true },
  { name: "no policy is left", resources: [ENDPOINT], open: [], out: false },
  { name: "the endpoint is taken away", resources: [], open: "everything", out: true },
];

function expectations(lab: LoneAgent, { open, out }: Step): Expected[] {
  const expected: Expected[] = [];
  for (const peer of ["friend", "stranger"]) {
    for (const port of TCP_PORTS) {
      const isFailsafe = port === 22 || port === 2379;
      const isOpen = open === "everything" || isFailsafe || open.includes(`${peer}:${port}`);
      expected.push(lab.probe(peer, "bare", "TCP", port, isOpen));
    }
    expected.push(lab.probe(peer, "bare", "UDP", 5000, open === "everything"));
    expected.push(lab.probe("bare", peer, "TCP", 8081, out), lab.probe("bare", peer, "UDP", 5000, out));
    // Failsafes of what leaves.
    expected.push(lab.probe("bare", peer, "UDP", 53, true), lab.probe("bare", peer, "TCP", 2379, true));
  }
  return expected;
}

export const bareHost: Scenario = {
  name: "bare-host",
  summary: "one agent on a directory: host endpoint, normal, untracked and pre-DNAT policies; failsafes; edits",
  async run({ quick, progress }) {
    const lab = new LoneAgent(HOSTS);
    let probes = 0;
    const rounds = quick ? 1 : 3;
    try {
      for (const { namespace } of lab.network.hosts) {
        for (const port of TCP_PORTS) lab.prober.serve(namespace, "TCP", port);
        for (const port of UDP_PORTS) lab.prober.serve(namespace, "UDP", port);
      }
      lab.write([]);
      lab.start();
      for (let round = 1; round <= rounds; round++) {
        for (const step of STEPS) {
          lab.write(step.resources);
          const expected = expectations(lab, step);
          await lab.reaches(step.name, expected);
          probes += expected.length;
          progress(`round ${round}: ${step.name}: ${expected.length} probes as they should be`);
        }
      }
      // What is enforced outlives the agent, and the next one takes it over.
      const last = required(STEPS[4], "a step");
      lab.write(last.resources);
      await lab.reaches(last.name, expectations(lab, last));
      await lab.agent.stop("SIGKILL");
      lab.start();
      await lab.reaches("the agent was killed and started again", expectations(lab, last));
    } finally {
      await lab.stop();
    }
    return { steps: STEPS.length * rounds + 2, probes };
  },
};
