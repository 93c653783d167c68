import { isObject } from "../v3/json-object.ts";
import { type Check, cidr, integer, joined, list, object, oneOf, text, wrong } from "./check.ts";
import { form, labelSelector } from "./kubernetes-policy-check.ts";
import { portNameProblem } from "./name.ts";

const pods = object({ namespaceSelector: labelSelector, podSelector: labelSelector });
const portNumber = integer(1, 65535);

function isOne(value: Readonly<Record<string, unknown>>): boolean {
  return Object.values(value).filter((field) => field !== undefined && field !== null).length === 1;
}

/** Exactly one of the fields. */
function union(fields: Readonly<Record<string, Check>>): Check {
  const check = object(fields);
  return (value) => {
    const issues = check(value);
    if (!isObject(value) || isOne(value)) return issues;
    return joined(issues, wrong(`Needs exactly one of ${Object.keys(fields).join(", ")}`));
  };
}

/** Whom a policy is for. */
export const clusterPolicySubject: Check = union({ namespaces: labelSelector, pods });

/** A whole number from 0 to 1,000. */
export const clusterPolicyPriority: Check = integer(0, 1000);

const rangeFields = object({ start: portNumber, end: portNumber });

const range: Check = (value) => {
  const issues = rangeFields(value);
  const { start, end } = isObject(value) ? value : {};
  if (typeof start === "number" && typeof end === "number" && start <= end) return issues;
  return joined(issues, wrong("Needs a start that is not above its end"));
};

const withPort = object({ destinationPort: union({ number: portNumber, range }) });
const protocol = union({
  tcp: withPort,
  udp: withPort,
  sctp: withPort,
  destinationNamedPort: form(portNameProblem),
});

/** An empty list of networks would be no condition at all. */
const networks: Check = (value) =>
  Array.isArray(value) && value.length === 0 ? wrong("Needs a network") : list(cidr)(value);

/** Other kinds of peers (`nodes`, `domainNames`) may be right, but are nothing that we can match. */
function peer(kinds: Readonly<Record<string, Check>>, refusesOthers: boolean): Check {
  const check = union(kinds);
  return (value) => {
    const other = isObject(value) ? Object.keys(value).find((name) => !Object.hasOwn(kinds, name)) : undefined;
    if (other === undefined || !isObject(value)) return check(value);
    const issues = isOne(value) ? undefined : wrong("Needs exactly one kind of peer");
    return refusesOthers ? joined(issues, wrong(`Peers of kind "${other}" are not supported`, other)) : issues;
  };
}

const INGRESS_PEERS = { namespaces: labelSelector, pods };
const PEERS = { ingress: ["from", INGRESS_PEERS], egress: ["to", { ...INGRESS_PEERS, networks }] } as const;

/**
 * A rule of a policy.networking.k8s.io/v1alpha2 ClusterNetworkPolicy.
 *
 * @param refusesOthers A kind of peer that we do not know is an issue.
 */
export function clusterPolicyRule(direction: "ingress" | "egress", refusesOthers: boolean): Check {
  const [peers, kinds] = PEERS[direction];
  const fields = object({
    name: text(),
    action: oneOf("Accept", "Deny", "Pass"),
    protocols: list(protocol),
    [peers]: list(peer(kinds, refusesOthers)),
  });
  return (value) => {
    let issues = fields(value);
    if (!isObject(value)) return issues;
    for (const name of ["action", peers]) {
      const field = value[name] ?? undefined;
      if (field === undefined || (Array.isArray(field) && field.length === 0))
        issues = joined(issues, wrong("Missing", name));
    }
    return issues;
  };
}
