import type { Policy, Rule, Update, WorkloadEndpoint } from "@bulrush/model";
import { fresh, ipv4Address, newUpdate } from "./workload.ts";

const PODS = "projectcalico.org/orchestrator == 'k8s'";
/** Two pods of each application in every namespace, which may talk to each other only. */
const APPLICATIONS = [1, 1, 2, 2] as const;
const NODES = 1000;

function profile(namespace: string): Update[] {
  const name = fresh(`kns.${namespace}`);
  const labelsToApply = {
    "pcns.app": namespace,
    "pcns.kubernetes.io/metadata.name": namespace,
    "pcns.projectcalico.org/name": namespace,
  };
  const resource = { apiVersion: "projectcalico.org/v3", kind: "Profile", metadata: { name }, spec: { labelsToApply } };
  const allow = [{ action: "allow" as const }];
  return [
    newUpdate({ type: "ProfileRules", name }, { inbound_rules: allow, outbound_rules: allow }),
    newUpdate({ type: "Resource", kind: "Profile", namespace: "", name }, resource),
  ];
}

/** A NetworkPolicy as the syncer translates it. */
function policy(namespace: string, name: string, pods: string, inbound: readonly Rule[]): Update {
  const value: Policy = {
    namespace,
    tier: "default",
    order: 1000,
    selector: fresh(`(${pods}) && projectcalico.org/namespace == '${namespace}'`),
    types: ["ingress", "egress"],
    inbound_rules: inbound,
    outbound_rules: [],
  };
  return newUpdate({ type: "Policy", kind: "KubernetesNetworkPolicy", namespace, name: fresh(name) }, value);
}

function applicationPolicy(namespace: string, application: number): Update {
  const pods = `${PODS} && app-${application} == 'scale-${application}'`;
  const rule: Rule = {
    action: "allow",
    src_selector: fresh(`(projectcalico.org/namespace == '${namespace}') && (${pods})`),
    orig_src_selector: fresh(pods),
  };
  return policy(namespace, `np-${application}`, pods, [rule]);
}

function pod(namespace: string, i: number, application: number): Update {
  const value: WorkloadEndpoint = {
    state: "active",
    name: fresh(`cali${i}`),
    profile_ids: [fresh(`kns.${namespace}`)],
    ipv4_nets: [fresh(`${ipv4Address(i + 1)}/32`)],
    ipv6_nets: [],
    labels: new Map([
      [fresh(`app-${application}`), fresh(`scale-${application}`)],
      [fresh("projectcalico.org/namespace"), fresh(namespace)],
      [fresh("projectcalico.org/orchestrator"), fresh("k8s")],
    ]),
  };
  const hostname = fresh(`node-${i % NODES}`);
  const workload = fresh(`${namespace}/pod-${i}`);
  return newUpdate({ type: "WorkloadEndpoint", hostname, orchestrator: "k8s", workload, endpoint: "eth0" }, value);
}

/** Many small namespaces: each denies everything and lets the two pods of each of its applications talk. */
export function* kubernetesUpdates(namespaces: number): Generator<Update> {
  const name = (n: number): string => fresh(`namespace-${n}`);
  for (let n = 0; n < namespaces; n++) yield* profile(name(n));
  for (let n = 0; n < namespaces; n++) {
    yield policy(name(n), "default-deny", PODS, []);
    yield applicationPolicy(name(n), 1);
    yield applicationPolicy(name(n), 2);
  }
  for (let n = 0; n < namespaces; n++)
    for (const [at, application] of APPLICATIONS.entries())
      yield pod(name(n), n * APPLICATIONS.length + at, application);
}
