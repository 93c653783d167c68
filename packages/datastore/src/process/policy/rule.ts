import { canonicalCidr } from "@bulrush/ip";
import type { EntityRule, HTTPMatch, Port, Rule, RuleSpec } from "@bulrush/model";
import { sortedMap } from "../sorted-map.ts";
import type { ReadRule } from "./close-policy.ts";
import { readPort, readProtocol } from "./port.ts";
import { entitySelector } from "./selector.ts";

const ACTIONS = { Allow: "allow", Deny: "deny", Log: "log", Pass: "next-tier" } as const;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** The entries of a list that are no CIDR are left out: the checks before have named them. */
function readNets(nets: readonly string[]): string[] {
  return nets.map(canonicalCidr).filter((net) => net !== undefined);
}

function readPorts(ports: readonly unknown[]): Port[] {
  return ports.map(readPort).filter((port) => port !== undefined);
}

function isFilled<T>(list: readonly T[] | undefined | null): list is readonly T[] {
  return list !== undefined && list !== null && list.length > 0;
}

type Side = "src" | "dst";

/** Where the fields of a side go. Written out, because to put each name together anew cost as much as all the rest. */
function fieldsOf<S extends Side>(side: S) {
  return {
    selector: `${side}_selector`,
    nets: `${side}_nets`,
    ports: `${side}_ports`,
    notSelector: `!${side}_selector`,
    notNets: `!${side}_nets`,
    notPorts: `!${side}_ports`,
    service: `${side}_service`,
    serviceNamespace: `${side}_service_ns`,
    origSelector: `orig_${side}_selector`,
    origNamespaceSelector: `orig_${side}_namespace_selector`,
    origNotSelector: `orig_not_${side}_selector`,
    accountNames: `orig_${side}_service_acct_names`,
    accountSelector: `orig_${side}_service_acct_selector`,
  } as const;
}

type SideFields = ReturnType<typeof fieldsOf<Side>>;

const SOURCE: SideFields = fieldsOf("src");
const DESTINATION: SideFields = fieldsOf("dst");

function convertSide(
  out: Writable<Rule>,
  to: SideFields,
  side: EntityRule,
  namespace: string,
  isUnscoped: boolean,
): void {
  const selector = entitySelector(side, namespace, isUnscoped);
  if (selector !== "") out[to.selector] = selector;
  if (isFilled(side.nets)) out[to.nets] = readNets(side.nets);
  if (isFilled(side.ports)) out[to.ports] = readPorts(side.ports);
  if (side.notSelector) out[to.notSelector] = side.notSelector;
  if (isFilled(side.notNets)) out[to.notNets] = readNets(side.notNets);
  if (isFilled(side.notPorts)) out[to.notPorts] = readPorts(side.notPorts);
  if (side.services?.name) {
    out[to.service] = side.services.name;
    out[to.serviceNamespace] = side.services.namespace || namespace;
  }
  if (side.selector) out[to.origSelector] = side.selector;
  if (side.namespaceSelector) out[to.origNamespaceSelector] = side.namespaceSelector;
  if (side.notSelector) out[to.origNotSelector] = side.notSelector;
  const accounts = side.serviceAccounts;
  if (isFilled(accounts?.names)) out[to.accountNames] = accounts.names;
  if (accounts?.selector) out[to.accountSelector] = accounts.selector;
}

function convertHttp(http: NonNullable<RuleSpec["http"]>): HTTPMatch {
  const paths = (http.paths ?? []).map((path) => (path.exact ? { exact: path.exact } : { prefix: path.prefix ?? "" }));
  return {
    ...(isFilled(http.methods) && { methods: http.methods }),
    ...(paths.length > 0 && { paths }),
  };
}

/**
 * A rule of a policy or profile in v1 form. The rule must be readable (or closed).
 *
 * @param namespace The policy's own; "" for the global kinds and profiles.
 */
export function convertRule({ rule, unscoped }: ReadRule, namespace: string): Rule {
  const out: Writable<Rule> = { action: ACTIONS[rule.action ?? "Deny"] };
  if (rule.ipVersion) out.ip_version = rule.ipVersion;
  const protocol = readProtocol(rule.protocol);
  if (protocol !== undefined) out.protocol = protocol;
  const notProtocol = readProtocol(rule.notProtocol);
  if (notProtocol !== undefined) out["!protocol"] = notProtocol;
  const { icmp, notICMP, source, destination, http } = rule;
  if (typeof icmp?.type === "number") out.icmp_type = icmp.type;
  if (typeof icmp?.code === "number") out.icmp_code = icmp.code;
  if (typeof notICMP?.type === "number") out["!icmp_type"] = notICMP.type;
  if (typeof notICMP?.code === "number") out["!icmp_code"] = notICMP.code;
  if (source) convertSide(out, SOURCE, source, namespace, unscoped?.source ?? false);
  if (destination) convertSide(out, DESTINATION, destination, namespace, unscoped?.destination ?? false);
  if (http) out.http = convertHttp(http);
  const annotations = rule.metadata?.annotations;
  if (annotations && Object.keys(annotations).length > 0) out.metadata = { annotations: sortedMap(annotations) };
  return out;
}
