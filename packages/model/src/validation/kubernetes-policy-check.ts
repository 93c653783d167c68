import { containsCidr, parseCidr } from "@bulrush/ip";
import { isObject } from "../v3/json-object.ts";
import { below, type Check, type CheckIssue, integer, joined, list, object, oneOf, text, wrong } from "./check.ts";
import { labelKeyProblem, labelValueProblem, portNameProblem } from "./name.ts";

/** A check of one of the forms of names. */
export function form(problemOf: (value: unknown) => string | undefined): Check {
  return (value) => {
    const problem = problemOf(value);
    return problem === undefined ? undefined : wrong(problem);
  };
}

const labelKey = form((value) => (typeof value === "string" ? labelKeyProblem(value) : "Expected a label key"));
const labelValue = form(labelValueProblem);

const OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist"] as const;

const requirementFields = object({
  key: labelKey,
  operator: oneOf(...OPERATORS),
  values: list(labelValue),
});

const requirement: Check = (value) => {
  let issues = requirementFields(value);
  if (!isObject(value)) return issues;
  for (const field of ["key", "operator"])
    if ((value[field] ?? undefined) === undefined) issues = joined(issues, wrong("Missing", field));
  const operator = OPERATORS.find((one) => one === value["operator"]);
  const wantsValues = operator === "In" || operator === "NotIn";
  const count = Array.isArray(value["values"]) ? value["values"].length : 0;
  if (operator === undefined || wantsValues === count > 0) return issues;
  return joined(issues, wrong(wantsValues ? "Needs a value" : "Must be empty for this operator", "values"));
};

const matchLabels: Check = (value) => {
  if (!isObject(value)) return wrong("Expected an object");
  let issues: CheckIssue[] | undefined;
  for (const name of Object.keys(value)) {
    const own = joined(labelKey(name), labelValue(value[name]));
    if (own !== undefined) issues = joined(issues, below(name, own));
  }
  return issues;
};

/** A label selector of Kubernetes. What passes can be put into the selector language. */
export const labelSelector: Check = object({ matchLabels, matchExpressions: list(requirement) });

const portNumber = integer(1, 65535);
const portName = form(portNameProblem);
const portOrName: Check = (value) => (typeof value === "string" ? portName(value) : portNumber(value));
const portFields = object({ protocol: oneOf("TCP", "UDP", "SCTP"), port: portOrName, endPort: portNumber });

const policyPort: Check = (value) => {
  const issues = portFields(value);
  if (!isObject(value)) return issues;
  const { port, endPort } = value;
  if (typeof endPort !== "number" || (typeof port === "number" && port <= endPort)) return issues;
  return joined(issues, wrong("Needs a port number that is not above it", "endPort"));
};

const network = text((value) => value.includes("/") && parseCidr(value) !== undefined, "a network");

const peerFields = object({
  podSelector: labelSelector,
  namespaceSelector: labelSelector,
  ipBlock: object({ cidr: network, except: list(network) }),
});

const policyPeer: Check = (value) => {
  let issues = peerFields(value);
  if (!isObject(value)) return issues;
  const ipBlock = value["ipBlock"] ?? undefined;
  const hasSelectors = (value["podSelector"] ?? value["namespaceSelector"] ?? undefined) !== undefined;
  if (hasSelectors === (ipBlock !== undefined))
    issues = joined(issues, wrong("A peer is either an ipBlock or selectors"));
  if (!isObject(ipBlock)) return issues;
  if ((ipBlock["cidr"] ?? undefined) === undefined) issues = joined(issues, wrong("Missing", "ipBlock", "cidr"));
  return joined(issues, exceptionsOutside(ipBlock));
};

/** An API server lets in no exception that takes nothing out of the block: what it was meant to take out is not known. */
function exceptionsOutside({ cidr: block, except }: Readonly<Record<string, unknown>>): CheckIssue[] | undefined {
  const outer = typeof block === "string" ? parseCidr(block) : undefined;
  if (outer === undefined || !Array.isArray(except)) return undefined;
  let issues: CheckIssue[] | undefined;
  for (const [i, text] of (except as unknown[]).entries()) {
    const inner = typeof text === "string" ? parseCidr(text) : undefined;
    if (inner === undefined || (containsCidr(outer, inner) && inner.prefixLength > outer.prefixLength)) continue;
    const message = `Expected a part of ${String(block)}, found "${String(text)}"`;
    issues = joined(issues, wrong(message, "ipBlock", "except", i));
  }
  return issues;
}

const FIELDS: Readonly<Record<string, Check>> = {
  podSelector: labelSelector,
  policyTypes: list(oneOf("Ingress", "Egress")),
  ingress: list(object({ from: list(policyPeer), ports: list(policyPort) })),
  egress: list(object({ to: list(policyPeer), ports: list(policyPort) })),
};

/** The spec of a networking.k8s.io/v1 NetworkPolicy: what an API server lets in. */
export const kubernetesPolicySpec: Check = object(FIELDS);

/** The same in a StagedKubernetesNetworkPolicy. */
export const stagedKubernetesPolicySpec: Check = object({
  ...FIELDS,
  stagedAction: oneOf("Set", "Delete", "Learn", "Ignore", ""),
});
