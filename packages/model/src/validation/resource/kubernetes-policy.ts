import { type Cidr, containsCidr } from "@bulrush/ip";
import { type Fields, isAbsent, readInteger, readList, readObject, readWord, readWords } from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";
import { labelKeyProblem, labelValueProblem, portNameProblem } from "../name.ts";
import { netProblem, readNet } from "../net.ts";
import { checkLabelMap } from "./metadata.ts";

const SELECTOR_FIELDS: ReadonlySet<string> = new Set(["matchLabels", "matchExpressions"]);
const EXPRESSION_FIELDS: ReadonlySet<string> = new Set(["key", "operator", "values"]);
const PEER_FIELDS: ReadonlySet<string> = new Set(["podSelector", "namespaceSelector", "ipBlock"]);
const BLOCK_FIELDS: ReadonlySet<string> = new Set(["cidr", "except"]);
const PORT_FIELDS: ReadonlySet<string> = new Set(["protocol", "port", "endPort"]);
const PROTOCOLS = ["TCP", "UDP", "SCTP"] as const;

/** A label selector of Kubernetes. */
export function checkLabelSelector(issues: IssueList, path: string, value: unknown): void {
  const selector = readObject(issues, path, value, SELECTOR_FIELDS);
  if (selector === undefined) return;
  checkLabelMap(issues, `${path}.matchLabels`, selector["matchLabels"]);
  const expressions = readList(issues, `${path}.matchExpressions`, selector["matchExpressions"]);
  for (const [i, item] of expressions.entries()) checkExpression(issues, `${path}.matchExpressions[${i}]`, item);
}

function checkExpression(issues: IssueList, path: string, value: unknown): void {
  const expression = readObject(issues, path, value ?? 0, EXPRESSION_FIELDS);
  if (expression === undefined) return;
  const { key } = expression;
  issues.check(`${path}.key`, typeof key === "string" ? labelKeyProblem(key) : expectedBut("a label key", key));
  if (isAbsent(expression["operator"])) issues.add(`${path}.operator`, "Expected an operator, found none");
  const operators = ["In", "NotIn", "Exists", "DoesNotExist"] as const;
  const operator = readWord(issues, `${path}.operator`, expression["operator"], operators);
  const values = readList(issues, `${path}.values`, expression["values"]);
  for (const [i, item] of values.entries()) issues.check(`${path}.values[${i}]`, labelValueProblem(item));
  const needsValues = operator === "In" || operator === "NotIn";
  if (operator !== undefined && needsValues !== values.length > 0)
    issues.add(`${path}.values`, needsValues ? `${operator} needs values` : `${operator} takes no values`);
}

/** networking.k8s.io/v1 NetworkPolicy, also inside a staged one. */
export function checkKubernetesPolicy(issues: IssueList, spec: Fields): void {
  checkLabelSelector(issues, "spec.podSelector", spec["podSelector"]);
  readWords(issues, "spec.policyTypes", spec["policyTypes"], ["Ingress", "Egress"]);
  for (const [direction, peers] of [
    ["ingress", "from"],
    ["egress", "to"],
  ] as const) {
    const fields: ReadonlySet<string> = new Set([peers, "ports"]);
    for (const [i, item] of readList(issues, `spec.${direction}`, spec[direction]).entries()) {
      const path = `spec.${direction}[${i}]`;
      const rule = readObject(issues, path, item ?? 0, fields);
      if (rule === undefined) continue;
      for (const [j, peer] of readList(issues, `${path}.${peers}`, rule[peers]).entries())
        checkPeer(issues, `${path}.${peers}[${j}]`, peer);
      for (const [j, port] of readList(issues, `${path}.ports`, rule["ports"]).entries())
        checkPort(issues, `${path}.ports[${j}]`, port);
    }
  }
}

function checkPeer(issues: IssueList, path: string, value: unknown): void {
  const peer = readObject(issues, path, value ?? 0, PEER_FIELDS);
  if (peer === undefined) return;
  checkLabelSelector(issues, `${path}.podSelector`, peer["podSelector"]);
  checkLabelSelector(issues, `${path}.namespaceSelector`, peer["namespaceSelector"]);
  const block = readObject(issues, `${path}.ipBlock`, peer["ipBlock"], BLOCK_FIELDS);
  const selects = !isAbsent(peer["podSelector"]) || !isAbsent(peer["namespaceSelector"]);
  if (isAbsent(peer["ipBlock"]) && !selects)
    issues.add(path, "Expected podSelector, namespaceSelector or ipBlock, found none");
  if (block === undefined) return;
  if (selects) issues.add(`${path}.ipBlock`, "May not stand beside a selector");
  checkBlock(issues, `${path}.ipBlock`, block);
}

function networkProblem(value: unknown): string | undefined {
  const problem = netProblem(value);
  if (problem !== undefined) return problem;
  return typeof value === "string" && value.includes("/") ? undefined : expectedBut("a network", value);
}

function checkBlock(issues: IssueList, path: string, block: Fields): void {
  issues.check(`${path}.cidr`, networkProblem(block["cidr"]));
  const outer = readNet(block["cidr"]);
  for (const [i, item] of readList(issues, `${path}.except`, block["except"]).entries()) {
    const at = `${path}.except[${i}]`;
    issues.check(at, networkProblem(item));
    const inner = readNet(item);
    if (outer === undefined || inner === undefined) continue;
    if (!isStrictSubset(outer, inner)) issues.add(at, expectedBut(`a part of ${String(block["cidr"])}`, item));
  }
}

function isStrictSubset(outer: Cidr, inner: Cidr): boolean {
  return containsCidr(outer, inner) && inner.prefixLength > outer.prefixLength;
}

function checkPort(issues: IssueList, path: string, value: unknown): void {
  const entry = readObject(issues, path, value ?? 0, PORT_FIELDS);
  if (entry === undefined) return;
  readWord(issues, `${path}.protocol`, entry["protocol"], PROTOCOLS);
  const { port, endPort } = entry;
  if (typeof port === "string") issues.check(`${path}.port`, portNameProblem(port));
  else readInteger(issues, `${path}.port`, port, 1, 65_535);
  if (isAbsent(endPort)) return;
  if (typeof port !== "number") issues.add(`${path}.endPort`, "endPort needs a numeric port");
  else if (readInteger(issues, `${path}.endPort`, endPort, 1, 65_535) !== undefined && (endPort as number) < port)
    issues.add(`${path}.endPort`, expectedBut(`a port not below ${port}`, endPort));
}
