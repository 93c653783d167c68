import { parseCidr } from "@bulrush/ip";
import { hasPorts, isObject, protocolNumber } from "@bulrush/model";
import {
  type Check,
  type CheckIssue,
  cidr,
  integer,
  joined,
  list,
  object,
  oneOf,
  selector,
  stringMap,
  text,
  wrong,
} from "@bulrush/model/check";
import { isNumericPort, port, protocol, readPort, readProtocol } from "./port.ts";

const DNS_NAME = /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/;
const dnsName = text(
  (value) => value.length <= 253 && DNS_NAME.test(value),
  "a name of lower-case letters, digits, - and .",
);

const dnsLabel = text(
  (value) => value.length <= 63 && /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(value),
  "a name of at most 63 lower-case letters, digits and -",
);

/** Such an exception leaves nothing over: a rule to deny would deny nothing. */
const exceptedNet: Check = (value) =>
  cidr(value) ??
  (parseCidr(value as string)?.prefixLength === 0
    ? wrong(`Expected a network that leaves something over, found ${JSON.stringify(value)}`)
    : undefined);

const serviceFields = object({ name: dnsLabel, namespace: (value) => (value === "" ? undefined : dnsLabel(value)) });

/** The service of a side. Without its name it would be no condition, without its namespace it would match nothing. */
function serviceMatch(isNamespaced: boolean): Check {
  return (value) => {
    let issues = serviceFields(value);
    if (!isObject(value)) return issues;
    if ((value["name"] ?? undefined) === undefined) issues = joined(issues, wrong("A service needs a name", "name"));
    if (isNamespaced || isSaid(value["namespace"])) return issues;
    return joined(issues, wrong("A service needs a namespace here", "namespace"));
  };
}

const entityFields: Readonly<Record<string, Check>> = {
  nets: list(cidr),
  notNets: list(exceptedNet),
  selector: selector(),
  notSelector: selector(),
  namespaceSelector: selector(true),
  ports: list(port),
  notPorts: list(port),
  serviceAccounts: object({ names: list(dnsName), selector: selector() }),
};

const icmp = object({ type: integer(0, 254), code: integer(0, 255) });

const httpPathFields = object({ exact: text(), prefix: text() });

/** Without either it would be no condition. */
const httpPath: Check = (value) => {
  const issues = httpPathFields(value);
  if (!isObject(value) || isSaid(value["exact"]) !== isSaid(value["prefix"])) return issues;
  return joined(issues, wrong("Expected either exact or prefix"));
};

function fieldsOfRules(isNamespaced: boolean): Check {
  const entity = object({ ...entityFields, services: serviceMatch(isNamespaced) });
  return object({
    action: oneOf("Allow", "Deny", "Log", "Pass"),
    ipVersion: oneOf(4, 6),
    protocol,
    notProtocol: protocol,
    icmp,
    notICMP: icmp,
    source: entity,
    destination: entity,
    http: object({ methods: list(text()), paths: list(httpPath) }),
    metadata: object({ annotations: stringMap }),
  });
}

function checkPorts(rule: Record<string, unknown>): CheckIssue[] | undefined {
  let issues: CheckIssue[] | undefined;
  const number = protocolOf(rule);
  for (const side of ["source", "destination"]) {
    const match = rule[side];
    if (!isObject(match)) continue;
    for (const field of ["ports", "notPorts"]) {
      const ports = match[field];
      if (!Array.isArray(ports) || ports.length === 0) continue;
      if (number === undefined ? !ports.some(isByNumber) : number === null || hasPorts(number)) continue;
      const message =
        number === undefined
          ? "Ports by number need a protocol"
          : `Protocol ${JSON.stringify(rule["protocol"])} has no ports`;
      issues = joined(issues, wrong(message, side, field));
    }
  }
  return issues;
}

function isByNumber(value: unknown): boolean {
  const read = readPort(value);
  return read !== undefined && isNumericPort(read);
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

/** The number of the rule's protocol; undefined for none, null for one that cannot be read. */
function protocolOf(rule: Record<string, unknown>): number | undefined | null {
  const named = rule["protocol"] ?? undefined;
  return named === undefined ? undefined : (protocolNumber(readProtocol(named)) ?? null);
}

const ICMP_PROTOCOLS: ReadonlySet<unknown> = new Set([1, 58, null]);

function checkIcmp(rule: Record<string, unknown>): CheckIssue[] | undefined {
  let issues: CheckIssue[] | undefined;
  for (const field of ["icmp", "notICMP"]) {
    const match = rule[field];
    if (!isObject(match)) continue;
    const [hasType, hasCode] = [isSaid(match["type"]), isSaid(match["code"])];
    if (hasCode && !hasType) issues = joined(issues, wrong("An ICMP code needs a type", field));
    if ((hasType || hasCode) && !ICMP_PROTOCOLS.has(protocolOf(rule)))
      issues = joined(issues, wrong("ICMP fields need protocol ICMP or ICMPv6", field));
  }
  return issues;
}

const HTTP_PROTOCOLS: ReadonlySet<unknown> = new Set([undefined, 6, null]);

/** Where nothing looks into HTTP the condition would be none, and the rule would do what it does to everything. */
function checkHttp(rule: Record<string, unknown>, direction: Direction): CheckIssue[] | undefined {
  if (!isSaid(rule["http"])) return undefined;
  if (direction === "ingress" && rule["action"] === "Allow" && HTTP_PROTOCOLS.has(protocolOf(rule))) return undefined;
  return wrong("HTTP conditions may only stand in an ingress rule with action Allow and protocol TCP", "http");
}

type Direction = "ingress" | "egress";

/** One rule of a Calico policy or profile. */
function ruleOf(direction: Direction, isNamespaced: boolean): Check {
  const fields = fieldsOfRules(isNamespaced);
  return (value) => {
    let issues = fields(value);
    if (!isObject(value)) return issues;
    if ((value["action"] ?? undefined) === undefined)
      issues = joined(issues, wrong("A rule needs an action", "action"));
    issues = joined(joined(issues, checkPorts(value)), checkIcmp(value));
    return joined(issues, checkHttp(value, direction));
  };
}

/** The two lists of rules of a Calico policy or profile; `isNamespaced`: it has a namespace of its own. */
export function rulesOf(isNamespaced: boolean): Readonly<Record<Direction, Check>> {
  return { ingress: list(ruleOf("ingress", isNamespaced)), egress: list(ruleOf("egress", isNamespaced)) };
}
