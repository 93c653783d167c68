import { isObject } from "../v3/json-object.ts";
import { isAbsent } from "./field.ts";
import { expectedBut } from "./issue.ts";
import { netProblem } from "./net.ts";
import { readPort } from "./port.ts";
import { hasPorts } from "../v1/protocol.ts";
import { protocolProblem } from "./protocol-problem.ts";
import { selectorProblem } from "./selector-text.ts";

/** An issue of a rule, and the fields that cannot be trusted because of it. */
export interface RuleIssue {
  /** Below the rule: `src_nets[1]`; empty for the rule as a whole. */
  readonly path: string;
  readonly message: string;
  readonly fields: readonly string[];
}

type Problem = string | undefined;
type Check = (value: unknown) => Problem;

const ACTIONS: ReadonlySet<unknown> = new Set(["", "allow", "deny", "log", "next-tier", "pass"]);

const action: Check = (value) =>
  ACTIONS.has(value) ? undefined : expectedBut("allow, deny, log, next-tier or pass", value);
const ipVersion: Check = (value) => (value === 4 || value === 6 ? undefined : expectedBut("4 or 6", value));
const text: Check = (value) => (typeof value === "string" ? undefined : expectedBut("a string", value));
const selector: Check = (value) => selectorProblem(value);
const net: Check = (value) => (value === "" ? undefined : netProblem(value));
const listedNet: Check = (value) => netProblem(value);

const port: Check = (value) => {
  const read = readPort(value);
  return typeof read === "string" ? read : undefined;
};

function integer(max: number): Check {
  return (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= max
      ? undefined
      : expectedBut(`a whole number from 0 to ${max}`, value);
}

const httpPath: Check = (value) => {
  const good =
    isObject(value) &&
    Object.keys(value).length === 1 &&
    (typeof value["exact"] === "string" || typeof value["prefix"] === "string");
  return good ? undefined : expectedBut("exact or prefix", value);
};

const http: Check = (value) => {
  if (!isObject(value)) return expectedBut("an object", value);
  for (const [name, items] of Object.entries(value)) {
    if (name !== "methods" && name !== "paths") return `Unknown field "${name}"`;
    if (isAbsent(items)) continue;
    if (!Array.isArray(items)) return expectedBut("a list", items);
    for (const item of items) {
      const problem = name === "methods" ? text(item) : httpPath(item);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
};

/** Annotations explain a rule and decide nothing, so their content is not looked at. */
const metadata: Check = (value) => (isObject(value) ? undefined : expectedBut("an object", value));

interface FieldFacts {
  readonly check: Check;
  /** The field is a list of what `check` is for. */
  readonly list: boolean;
  /** A condition that was made from this field, and so is as unreadable as it. */
  readonly condition: string | undefined;
}

function one(check: Check, condition?: string): FieldFacts {
  return { check, list: false, condition };
}

function many(check: Check): FieldFacts {
  return { check, list: true, condition: undefined };
}

/** Every field of a v1 rule. A field that is not here is a condition that we do not know: see {@link ruleIssues}. */
const FIELDS: ReadonlyMap<string, FieldFacts> = new Map([
  ["action", one(action)],
  ["ip_version", one(ipVersion)],
  ["protocol", one(protocolProblem)],
  ["!protocol", one(protocolProblem)],
  ["icmp_type", one(integer(254))],
  ["icmp_code", one(integer(255))],
  ["!icmp_type", one(integer(254))],
  ["!icmp_code", one(integer(255))],
  ...["src", "dst"].flatMap((side): [string, FieldFacts][] => [
    [`${side}_net`, one(net)],
    [`${side}_nets`, many(listedNet)],
    [`${side}_selector`, one(selector)],
    [`${side}_ports`, many(port)],
    [`${side}_service`, one(text)],
    [`${side}_service_ns`, one(text)],
    [`!${side}_net`, one(net)],
    [`!${side}_nets`, many(listedNet)],
    [`!${side}_selector`, one(selector)],
    [`!${side}_ports`, many(port)],
    [`orig_${side}_selector`, one(selector, `${side}_selector`)],
    [`orig_${side}_namespace_selector`, one(selector, `${side}_selector`)],
    [`orig_not_${side}_selector`, one(selector, `!${side}_selector`)],
    [`orig_${side}_service_acct_names`, many(text)],
    [`orig_${side}_service_acct_selector`, one(selector, `${side}_selector`)],
  ]),
  ["http", one(http)],
  ["metadata", one(metadata)],
  ["log_prefix", one(text)],
]);

/** The lists of ports: they need a protocol that has ports. */
const PORT_FIELDS = ["src_ports", "dst_ports", "!src_ports", "!dst_ports"] as const;

/** Each ICMP code, and the type that it needs. */
const ICMP_FIELDS = [
  ["icmp_code", "icmp_type"],
  ["!icmp_code", "!icmp_type"],
] as const;

const NO_ISSUES: readonly RuleIssue[] = [];

/** Everything that is wrong with a v1 rule. An unknown field is an issue: ignoring a condition would widen the rule. */
export function ruleIssues(rule: unknown): readonly RuleIssue[] {
  if (!isObject(rule)) return [{ path: "", message: expectedBut("a rule", rule), fields: [] }];
  let issues: RuleIssue[] | undefined;
  for (const name of Object.keys(rule)) {
    const value = rule[name];
    if (isAbsent(value)) continue;
    const facts = FIELDS.get(name);
    if (facts === undefined) (issues ??= []).push({ path: name, message: "Unknown field", fields: [name] });
    else if (!facts.list) {
      const problem = facts.check(value);
      if (problem !== undefined) (issues ??= []).push(fieldIssue(name, facts, name, problem));
    } else if (!Array.isArray(value)) (issues ??= []).push(fieldIssue(name, facts, name, expectedBut("a list", value)));
    else {
      for (let i = 0; i < value.length; i++) {
        const problem = facts.check(value[i]);
        if (problem !== undefined) (issues ??= []).push(fieldIssue(name, facts, `${name}[${i}]`, problem));
      }
    }
  }
  for (const name of PORT_FIELDS) {
    const problem = portsWithoutProtocol(rule[name], rule["protocol"]);
    // Which of the two was meant otherwise is not known: neither can be trusted.
    if (problem !== undefined) (issues ??= []).push({ path: name, message: problem, fields: [name, "protocol"] });
  }
  for (const [code, type] of ICMP_FIELDS) {
    if (!isAbsent(rule[code]) && isAbsent(rule[type]))
      (issues ??= []).push({ path: code, message: "An ICMP code needs an ICMP type", fields: [code] });
  }
  return issues ?? NO_ISSUES;
}

function fieldIssue(name: string, { condition }: FieldFacts, path: string, message: string): RuleIssue {
  return { path, message, fields: condition === undefined ? [name] : [name, condition] };
}

/** Numeric ports need TCP, UDP or SCTP; named ports bring their own protocol, unless there is one without ports. */
function portsWithoutProtocol(ports: unknown, protocol: unknown): Problem {
  if (!Array.isArray(ports) || ports.length === 0) return undefined;
  if (!isAbsent(protocol))
    return hasPorts(protocol) || protocolProblem(protocol) !== undefined
      ? undefined
      : expectedBut("protocol tcp, udp or sctp beside ports", protocol);
  const numeric = ports.some((value) => {
    const read = readPort(value);
    return typeof read !== "string" && read.type === "range";
  });
  return numeric ? "Numeric ports need a protocol" : undefined;
}
