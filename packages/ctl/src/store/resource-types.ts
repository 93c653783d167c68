import { nearestName } from "@bulrush/base";
import type { ResourceType } from "@bulrush/datastore";
import { CALICO_V3, type KindFacts, KINDS } from "@bulrush/model";
import { usageError } from "../errors.ts";

/** What calicoctl's and kubectl's users type. */
const SHORT: Readonly<Record<string, string>> = {
  policy: "networkpolicies",
  policies: "networkpolicies",
  np: "networkpolicies",
  gnp: "globalnetworkpolicies",
  snp: "stagednetworkpolicies",
  sgnp: "stagedglobalnetworkpolicies",
  sknp: "stagedkubernetesnetworkpolicies",
  knp: "networkpolicies.networking.k8s.io",
  cnp: "clusternetworkpolicies",
  netset: "networksets",
  gns: "globalnetworksets",
  globalnetset: "globalnetworksets",
  hep: "hostendpoints",
  wep: "workloadendpoints",
  pool: "ippools",
  felixconfig: "felixconfigurations",
  bgpconfig: "bgpconfigurations",
  clusterinfo: "clusterinformations",
  kubecontrollersconfig: "kubecontrollersconfigurations",
  ns: "namespaces",
  no: "nodes",
  po: "pods",
  sa: "serviceaccounts",
  svc: "services",
};

/** "networking.k8s.io" of "networking.k8s.io/v1"; the core group is called by its version. */
function groupOf({ apiVersion }: ResourceType): string {
  const [group = "", version] = apiVersion.split("/");
  return version === undefined ? apiVersion : group;
}

/** A plural that says exactly one kind: with the group, where Calico's is another. */
export function typeName(type: ResourceType): string {
  const facts = KINDS.find(({ apiVersion, kind }) => apiVersion === type.apiVersion && kind === type.kind);
  if (facts === undefined) return type.kind.toLowerCase();
  const first = KINDS.find(({ plural }) => plural === facts.plural);
  return first === facts ? facts.plural : `${facts.plural}.${groupOf(facts)}`;
}

/**
 * The kinds that `text` names: plural, singular, short name or kind in any case, with or without a group
 * (`networkpolicies.networking.k8s.io`), several with commas, or `all`. Without a group Calico's come first.
 *
 * @throws CtlError CTL_USAGE, with the nearest name.
 */
export function parseTypes(text: string): readonly KindFacts[] {
  if (text === "all") return KINDS;
  return [...new Set(text.split(",").map(parseType))];
}

function parseType(text: string): KindFacts {
  const given = text.toLowerCase();
  const [name = "", ...group] = (SHORT[given] ?? given).split(".");
  const wanted = group.join(".");
  const named = KINDS.filter(({ plural, kind }) => plural === name || kind.toLowerCase() === name);
  const facts = named.find(
    (one) => wanted === "" || groupOf(one) === wanted || (wanted === "v3" && one.apiVersion === CALICO_V3),
  );
  if (facts !== undefined) return facts;
  if (named.length > 0)
    throw usageError(`"${text}" is in no group "${wanted}"; there is ${named.map(typeName).join(" and ")}`);
  const near = nearestName(name, [
    ...KINDS.flatMap(({ plural, kind }) => [plural, kind.toLowerCase()]),
    ...Object.keys(SHORT),
  ]);
  throw usageError(`Unknown kind "${text}"${near === undefined ? "" : `; did you mean ${near}?`}`);
}
