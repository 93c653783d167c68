import { hasPorts, isObject } from "@bulrush/model";
import {
  boolean,
  type Check,
  cidr,
  integer,
  type Issue,
  joined,
  list,
  number,
  object,
  oneOf,
  selector,
  stringMap,
  text,
  wrong,
} from "../check.ts";
import { isNumericPort, port, protocol, readPort, readProtocol } from "./port.ts";

const DNS_NAME = /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/;
const dnsName = text(
  (value) => value.length <= 253 && DNS_NAME.test(value),
  "a name of lower-case letters, digits, - and .",
);

const entity = object({
  nets: list(cidr),
  notNets: list(cidr),
  selector: selector(),
  notSelector: selector(),
  namespaceSelector: selector(true),
  services: object({ name: text(), namespace: text() }),
  ports: list(port),
  notPorts: list(port),
  serviceAccounts: object({ names: list(dnsName), selector: selector() }),
});

const icmp = object({ type: integer(0, 254), code: integer(0, 255) });

const ruleFields = object({
  action: oneOf("Allow", "Deny", "Log", "Pass"),
  ipVersion: oneOf(4, 6),
  protocol,
  notProtocol: protocol,
  icmp,
  notICMP: icmp,
  source: entity,
  destination: entity,
  http: object({ methods: list(text()), paths: list(object({ exact: text(), prefix: text() })) }),
  metadata: object({ annotations: stringMap }),
});

function checkPorts(rule: Record<string, unknown>): Issue[] | undefined {
  let issues: Issue[] | undefined;
  const protocolOf = rule["protocol"] ?? undefined;
  const read = protocolOf === undefined ? undefined : readProtocol(protocolOf);
  for (const side of ["source", "destination"]) {
    const match = rule[side];
    if (!isObject(match)) continue;
    for (const field of ["ports", "notPorts"]) {
      const ports = match[field];
      if (!Array.isArray(ports) || ports.length === 0) continue;
      if (protocolOf === undefined ? ports.some(isByNumber) : read !== undefined && !hasPorts(read)) {
        const message =
          protocolOf === undefined
            ? "Ports by number need a protocol"
            : `Protocol ${JSON.stringify(protocolOf)} has no ports`;
        issues = joined(issues, wrong(message, side, field));
      }
    }
    const services = match["services"];
    if (isObject(services) && (services["name"] ?? "") === "" && (services["namespace"] ?? "") !== "")
      issues = joined(issues, wrong("A service needs a name", side, "services", "name"));
  }
  return issues;
}

function isByNumber(value: unknown): boolean {
  const read = readPort(value);
  return read !== undefined && isNumericPort(read);
}

function checkIcmp(rule: Record<string, unknown>): Issue[] | undefined {
  let issues: Issue[] | undefined;
  for (const field of ["icmp", "notICMP"]) {
    const match = rule[field];
    if (isObject(match) && (match["code"] ?? undefined) !== undefined && (match["type"] ?? undefined) === undefined)
      issues = joined(issues, wrong("An ICMP code needs a type", field));
  }
  return issues;
}

/** One rule of a Calico policy or profile. */
const rule: Check = (value) => {
  let issues = ruleFields(value);
  if (!isObject(value)) return issues;
  if ((value["action"] ?? undefined) === undefined) issues = joined(issues, wrong("A rule needs an action", "action"));
  return joined(joined(issues, checkPorts(value)), checkIcmp(value));
};

const types = list(oneOf("Ingress", "Egress"));

const namespacedFields: Readonly<Record<string, Check>> = {
  tier: text((value) => /^[A-Za-z0-9_.-]{0,128}$/.test(value), "the name of a tier"),
  order: number,
  selector: selector(),
  serviceAccountSelector: selector(),
  types,
  ingress: list(rule),
  egress: list(rule),
  performanceHints: list(oneOf("AssumeNeededOnEveryNode")),
};

const globalFields: Readonly<Record<string, Check>> = {
  ...namespacedFields,
  namespaceSelector: selector(),
  doNotTrack: boolean,
  preDNAT: boolean,
  applyOnForward: boolean,
};

const stagedAction = oneOf("Set", "Delete", "Learn", "Ignore", "");

type CheckedPolicyKind = "NetworkPolicy" | "GlobalNetworkPolicy" | "StagedNetworkPolicy" | "StagedGlobalNetworkPolicy";

/** The spec of each kind of Calico policy. */
export const POLICY_SPEC_CHECKS: Readonly<Record<CheckedPolicyKind, Check>> = {
  NetworkPolicy: object(namespacedFields),
  GlobalNetworkPolicy: object(globalFields),
  StagedNetworkPolicy: object({ ...namespacedFields, stagedAction }),
  StagedGlobalNetworkPolicy: object({ ...globalFields, stagedAction }),
};

/** The spec of a profile. */
export const profileSpec: Check = object({ ingress: list(rule), egress: list(rule), labelsToApply: stringMap });
