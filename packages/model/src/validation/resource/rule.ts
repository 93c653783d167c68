import { type Cidr, isMasked } from "@bulrush/ip";
import { isObject } from "../../v3/json-object.ts";
import { entityRule, ingressRule } from "../../schema/rule.ts";
import { fieldNames } from "../../schema/shape.ts";
import { type Fields, isAbsent, readInteger, readList, readObject, readString, readWord } from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";
import { dnsLabelProblem, dnsSubdomainProblem } from "../name.ts";
import { maskedNetProblem, readNet } from "../net.ts";
import { readPort } from "../port.ts";
import { hasPorts, protocolNumber } from "../../v1/protocol.ts";
import { protocolProblem } from "../protocol-problem.ts";
import { checkAnnotations } from "./metadata.ts";
import { checkRuleNamespaceSelector, checkSelector } from "./selector.ts";

/** Where a rule stands. */
export interface RulePlace {
  readonly direction: "ingress" | "egress";
  /** In a namespaced policy: a service without a namespace is in the policy's own. */
  readonly namespaced: boolean;
}

const RULE_FIELDS = fieldNames(ingressRule);
const SIDE_FIELDS = fieldNames(entityRule);
const ICMP_FIELDS: ReadonlySet<string> = new Set(["type", "code"]);
const HTTP_FIELDS: ReadonlySet<string> = new Set(["methods", "paths"]);
const HTTP_PATH_FIELDS: ReadonlySet<string> = new Set(["exact", "prefix"]);
const SERVICE_FIELDS: ReadonlySet<string> = new Set(["name", "namespace"]);
const ACCOUNT_FIELDS: ReadonlySet<string> = new Set(["names", "selector"]);
const METADATA_FIELDS: ReadonlySet<string> = new Set(["annotations"]);

/** What may not stand beside a service: its members and ports come from its endpoints. */
const NOT_BESIDE_SERVICES = [
  "nets",
  "notNets",
  "selector",
  "notSelector",
  "namespaceSelector",
  "serviceAccounts",
  "ports",
  "notPorts",
] as const;

const ICMP_PROTOCOLS: ReadonlySet<number | undefined> = new Set([1, 58]);
const TCP = 6;

function isEmpty(value: unknown): boolean {
  return isAbsent(value) || value === "" || (Array.isArray(value) && value.length === 0);
}

/** Resources write protocols in any case. */
function lowerCase(protocol: unknown): unknown {
  return typeof protocol === "string" ? protocol.toLowerCase() : protocol;
}

function checkProtocol(issues: IssueList, path: string, value: unknown): void {
  if (!isAbsent(value) && protocolProblem(lowerCase(value)) !== undefined) issues.check(path, protocolProblem(value));
}

/** A rule of a Calico policy or profile. */
export function checkRule(issues: IssueList, path: string, value: unknown, place: RulePlace): void {
  const rule = readObject(issues, path, value, RULE_FIELDS);
  if (rule === undefined) {
    if (isAbsent(value)) issues.add(path, expectedBut("a rule", value));
    return;
  }
  if (isAbsent(rule["action"])) issues.add(`${path}.action`, "Expected one of Allow, Deny, Log, Pass, found none");
  readWord(issues, `${path}.action`, rule["action"], ["Allow", "Deny", "Log", "Pass"]);
  const ipVersion = rule["ipVersion"];
  if (!isAbsent(ipVersion) && ipVersion !== 4 && ipVersion !== 6)
    issues.add(`${path}.ipVersion`, expectedBut("4 or 6", ipVersion));
  checkProtocol(issues, `${path}.protocol`, rule["protocol"]);
  checkProtocol(issues, `${path}.notProtocol`, rule["notProtocol"]);
  for (const name of ["icmp", "notICMP"]) checkICMP(issues, `${path}.${name}`, rule[name], rule["protocol"]);
  const source = readObject(issues, `${path}.source`, rule["source"], SIDE_FIELDS);
  const destination = readObject(issues, `${path}.destination`, rule["destination"], SIDE_FIELDS);
  if (source !== undefined) checkSide(issues, `${path}.source`, source, rule, place, place.direction === "ingress");
  if (destination !== undefined)
    checkSide(issues, `${path}.destination`, destination, rule, place, place.direction === "egress");
  checkFamilies(issues, path, source, destination, ipVersion);
  checkHTTP(issues, `${path}.http`, rule, place);
  const metadata = readObject(issues, `${path}.metadata`, rule["metadata"], METADATA_FIELDS);
  checkAnnotations(issues, `${path}.metadata.annotations`, metadata?.["annotations"]);
}

function checkICMP(issues: IssueList, path: string, value: unknown, protocol: unknown): void {
  const icmp = readObject(issues, path, value, ICMP_FIELDS);
  if (icmp === undefined) return;
  readInteger(issues, `${path}.type`, icmp["type"], 0, 254);
  readInteger(issues, `${path}.code`, icmp["code"], 0, 255);
  if (!isAbsent(icmp["code"]) && isAbsent(icmp["type"])) issues.add(`${path}.code`, "A code needs a type");
  if (!ICMP_PROTOCOLS.has(protocolNumber(lowerCase(protocol))))
    issues.add(path, "ICMP fields need protocol ICMP or ICMPv6");
}

function checkSide(
  issues: IssueList,
  path: string,
  side: Fields,
  rule: Fields,
  place: RulePlace,
  mayNameServices: boolean,
): void {
  for (const name of ["nets", "notNets"]) {
    for (const [i, net] of readList(issues, `${path}.${name}`, side[name]).entries()) {
      issues.check(`${path}.${name}[${i}]`, maskedNetProblem(net));
      if (name === "notNets" && readNet(net)?.prefixLength === 0)
        issues.add(`${path}.${name}[${i}]`, expectedBut("a network that leaves something over", net));
    }
  }
  checkSelector(issues, `${path}.selector`, side["selector"]);
  checkSelector(issues, `${path}.notSelector`, side["notSelector"]);
  checkRuleNamespaceSelector(issues, `${path}.namespaceSelector`, side["namespaceSelector"]);
  const accounts = readObject(issues, `${path}.serviceAccounts`, side["serviceAccounts"], ACCOUNT_FIELDS);
  if (accounts !== undefined) {
    checkSelector(issues, `${path}.serviceAccounts.selector`, accounts["selector"]);
    for (const [i, name] of readList(issues, `${path}.serviceAccounts.names`, accounts["names"]).entries())
      issues.check(`${path}.serviceAccounts.names[${i}]`, dnsSubdomainProblem(name));
  }
  for (const name of ["ports", "notPorts"]) checkPorts(issues, `${path}.${name}`, side[name], rule["protocol"]);
  checkServices(issues, path, side, place, mayNameServices);
}

/** Numeric ports need TCP, UDP or SCTP; a named port brings its own protocol, unless there is one without ports. */
function checkPorts(issues: IssueList, path: string, value: unknown, protocol: unknown): void {
  const ports = readList(issues, path, value);
  const named = lowerCase(protocol);
  for (const [i, port] of ports.entries()) {
    const read = readPort(port);
    if (typeof read === "string") issues.add(`${path}[${i}]`, read);
    else if (read.type === "range" && isAbsent(protocol))
      issues.add(`${path}[${i}]`, "A numeric port needs a protocol: TCP, UDP or SCTP");
  }
  if (ports.length > 0 && !isAbsent(protocol) && protocolProblem(named) === undefined && !hasPorts(named))
    issues.add(path, expectedBut("protocol TCP, UDP or SCTP beside ports", protocol));
}

function checkServices(
  issues: IssueList,
  path: string,
  side: Fields,
  place: RulePlace,
  mayNameServices: boolean,
): void {
  const services = readObject(issues, `${path}.services`, side["services"], SERVICE_FIELDS);
  if (services === undefined) return;
  const at = `${path}.services`;
  if (!mayNameServices)
    issues.add(at, "A service may only stand in the source of an ingress rule or the destination of an egress rule");
  issues.check(`${at}.name`, dnsLabelProblem(services["name"]));
  const { namespace } = services;
  if (!isEmpty(namespace)) issues.check(`${at}.namespace`, dnsLabelProblem(namespace));
  else if (!place.namespaced) issues.add(`${at}.namespace`, "Expected the namespace of the service, found none");
  for (const name of NOT_BESIDE_SERVICES)
    if (!isEmpty(side[name])) issues.add(`${path}.${name}`, "May not stand beside services");
}

/** All networks of a rule must be of one family, and of the rule's version. */
function checkFamilies(
  issues: IssueList,
  path: string,
  source: Fields | undefined,
  destination: Fields | undefined,
  ipVersion: unknown,
): void {
  let first: Cidr | undefined;
  for (const [side, fields] of [
    ["source", source],
    ["destination", destination],
  ] as const) {
    for (const name of ["nets", "notNets"]) {
      const nets = fields?.[name];
      if (!Array.isArray(nets)) continue;
      for (const [i, net] of nets.entries()) {
        const cidr = readNet(net);
        if (cidr === undefined || !isMasked(cidr)) continue;
        const at = `${path}.${side}.${name}[${i}]`;
        if ((ipVersion === 4 || ipVersion === 6) && cidr.family !== ipVersion)
          issues.add(at, expectedBut(`an IPv${ipVersion} network, as ipVersion says`, net));
        first ??= cidr;
        if (cidr.family !== first.family)
          issues.add(at, expectedBut(`an IPv${first.family} network like the others of this rule`, net));
      }
    }
  }
}

function checkHTTP(issues: IssueList, path: string, rule: Fields, place: RulePlace): void {
  const http = readObject(issues, path, rule["http"], HTTP_FIELDS);
  if (http === undefined) return;
  if (place.direction !== "ingress" || rule["action"] !== "Allow")
    issues.add(path, "HTTP conditions may only stand in an ingress rule with action Allow");
  if (!isAbsent(rule["protocol"]) && protocolNumber(lowerCase(rule["protocol"])) !== TCP)
    issues.add(path, "HTTP conditions need protocol TCP");
  for (const [i, method] of readList(issues, `${path}.methods`, http["methods"]).entries())
    readString(issues, `${path}.methods[${i}]`, method ?? 0);
  for (const [i, item] of readList(issues, `${path}.paths`, http["paths"]).entries()) {
    const at = `${path}.paths[${i}]`;
    readObject(issues, at, item ?? 0, HTTP_PATH_FIELDS);
    if (!isObject(item)) continue;
    readString(issues, `${at}.exact`, item["exact"]);
    readString(issues, `${at}.prefix`, item["prefix"]);
    if (isAbsent(item["exact"]) === isAbsent(item["prefix"])) issues.add(at, "Expected either exact or prefix");
  }
}
