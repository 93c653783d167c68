import { ipPoolSpec } from "../schema/network.ts";
import { defaultsOf } from "../schema/shape.ts";
import type { Resource, ResourceMetadata } from "../v1/value.ts";
import { NAMESPACE_LABEL, ORCHESTRATOR_LABEL, SERVICE_ACCOUNT_LABEL } from "../v1/well-known.ts";
import { CALICO_CRD_V1, CALICO_V3, kindFacts } from "./kind.ts";
import { containersWithDefaults, portsWithDefaults } from "./port-defaults.ts";
import { calicoPolicyTypes, kubernetesPolicyTypes, tierDefaults } from "./policy-defaults.ts";
import { isObject, type JsonObject } from "./json-object.ts";

type Fill = (spec: JsonObject, resource: Resource) => JsonObject;

const calicoPolicy: Fill = (spec) => ({
  ...spec,
  tier: spec["tier"] === undefined || spec["tier"] === "" ? "default" : spec["tier"],
  ...(spec["stagedAction"] === "Delete" ? {} : calicoPolicyTypes(spec)),
});

const kubernetesPolicy: Fill = (spec) => {
  const out: JsonObject = { ...spec, ...(spec["stagedAction"] === "Delete" ? {} : kubernetesPolicyTypes(spec)) };
  for (const direction of ["ingress", "egress"]) {
    const rules = spec[direction];
    if (!Array.isArray(rules)) continue;
    out[direction] = rules.map((rule: unknown) =>
      isObject(rule) && Array.isArray(rule["ports"]) ? { ...rule, ports: portsWithDefaults(rule["ports"]) } : rule,
    );
  }
  return out;
};

const ipPool: Fill = (spec) => ({
  blockSize: typeof spec["cidr"] === "string" && spec["cidr"].includes(":") ? 122 : 26,
  ...defaultsOf(ipPoolSpec),
  ...withoutEmpty(spec),
});

const felixConfiguration: Fill = (spec, resource) =>
  resource.metadata.name === "default"
    ? {
        floatingIPs: "Disabled",
        bpfConnectTimeLoadBalancing: "TCP",
        bpfHostNetworkedNATWithoutCTLB: "Enabled",
        ...spec,
      }
    : spec;

const pod: Fill = (spec) => {
  const account = spec["serviceAccountName"] || spec["serviceAccount"] || "default";
  return {
    ...spec,
    serviceAccountName: account,
    ...(Array.isArray(spec["containers"]) && { containers: containersWithDefaults(spec["containers"]) }),
    ...(Array.isArray(spec["initContainers"]) && { initContainers: containersWithDefaults(spec["initContainers"]) }),
  };
};

const service: Fill = (spec) => ({
  type: "ClusterIP",
  ...spec,
  ...(Array.isArray(spec["ports"]) && { ports: portsWithDefaults(spec["ports"]) }),
});

const FILLS: Readonly<Record<string, Fill>> = {
  [`${CALICO_V3} NetworkPolicy`]: calicoPolicy,
  [`${CALICO_V3} GlobalNetworkPolicy`]: calicoPolicy,
  [`${CALICO_V3} StagedNetworkPolicy`]: calicoPolicy,
  [`${CALICO_V3} StagedGlobalNetworkPolicy`]: calicoPolicy,
  [`${CALICO_V3} StagedKubernetesNetworkPolicy`]: kubernetesPolicy,
  [`${CALICO_V3} Tier`]: (spec, resource) => ({ ...tierDefaults(resource.metadata.name), ...withoutEmpty(spec) }),
  [`${CALICO_V3} IPPool`]: ipPool,
  [`${CALICO_V3} FelixConfiguration`]: felixConfiguration,
  "networking.k8s.io/v1 NetworkPolicy": kubernetesPolicy,
  "v1 Pod": pod,
  "v1 Service": service,
};

/**
 * A workload endpoint carries the labels of what it is, whatever is written there: policy of its namespace finds it by
 * them. Calico's own client stores them so.
 */
function endpointLabels({ metadata, spec }: Resource, namespace: string): Readonly<Record<string, string>> {
  const { orchestrator, serviceAccountName: account } = isObject(spec) ? spec : {};
  return {
    ...metadata.labels,
    [NAMESPACE_LABEL]: namespace,
    ...(typeof orchestrator === "string" && orchestrator !== "" && { [ORCHESTRATOR_LABEL]: orchestrator }),
    ...(typeof account === "string" && account !== "" && { [SERVICE_ACCOUNT_LABEL]: account }),
  };
}

/**
 * The resource as an API server would have stored it: the namespace `default` where a namespaced object names none
 * (and none on the other kinds), policy types from rules, protocol TCP, the tier `default`, a Namespace's own name
 * label, the labels of a workload endpoint, and so on. Fields of the wrong shape are left as they are, for validation to name. Pure; the input is not
 * changed. A kind that we do not read comes back as it was.
 */
export function applyDefaults(resource: Resource): Resource {
  const facts = kindFacts(resource.apiVersion, resource.kind);
  if (facts === undefined) return resource;
  const out: JsonObject = { ...resource, metadata: metadataWithDefaults(resource, facts.namespaced) };
  const fill = FILLS[`${facts.apiVersion} ${facts.kind}`];
  const spec = resource.spec ?? {};
  if (fill !== undefined && isObject(spec)) out["spec"] = fill(spec, resource);
  if (resource.kind === "EndpointSlice" && Array.isArray(out["ports"])) out["ports"] = portsWithDefaults(out["ports"]);
  return out as unknown as Resource;
}

function metadataWithDefaults(resource: Resource, namespaced: boolean): ResourceMetadata {
  const { namespace, ...rest } = resource.metadata;
  let metadata: ResourceMetadata = rest;
  if (namespaced) {
    const named = namespace !== undefined && (namespace as string | null) !== null && namespace !== "";
    metadata = { ...rest, namespace: named ? namespace : "default" };
  }
  if (resource.kind === "Namespace" && resource.apiVersion === "v1") {
    metadata = { ...metadata, labels: { ...metadata.labels, "kubernetes.io/metadata.name": metadata.name } };
  }
  if (resource.kind === "WorkloadEndpoint") {
    metadata = { ...metadata, labels: endpointLabels(resource, metadata.namespace ?? "") };
  }
  return metadata;
}

/** Absent, null and "" are one for the fields that have a default. */
function withoutEmpty(spec: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== null && value !== ""));
}

/** True for both names under which Calico's kinds are stored. */
export function isCalicoVersion(apiVersion: string): boolean {
  return apiVersion === CALICO_V3 || apiVersion === CALICO_CRD_V1;
}
