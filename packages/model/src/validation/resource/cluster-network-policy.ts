import { type Fields, isAbsent, readInteger, readList, readObject, readString, readWord } from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";
import { portNameProblem } from "../name.ts";
import { netProblem } from "../net.ts";
import { checkLabelSelector } from "./kubernetes-policy.ts";

const PODS_FIELDS: ReadonlySet<string> = new Set(["namespaceSelector", "podSelector"]);
const SUBJECT_FIELDS: ReadonlySet<string> = new Set(["namespaces", "pods"]);

function fieldCount(value: Fields): number {
  return Object.values(value).filter((field) => !isAbsent(field)).length;
}

function checkPods(issues: IssueList, path: string, value: unknown): void {
  const pods = readObject(issues, path, value, PODS_FIELDS);
  checkLabelSelector(issues, `${path}.namespaceSelector`, pods?.["namespaceSelector"]);
  checkLabelSelector(issues, `${path}.podSelector`, pods?.["podSelector"]);
}

/**
 * policy.networking.k8s.io/v1alpha2 ClusterNetworkPolicy. A kind of peer that we do not know is no issue: its rule is
 * closed when it is translated.
 */
export function checkClusterNetworkPolicy(issues: IssueList, spec: Fields): void {
  if (isAbsent(spec["tier"])) issues.add("spec.tier", 'Expected "Admin" or "Baseline", found none');
  readWord(issues, "spec.tier", spec["tier"], ["Admin", "Baseline"]);
  readInteger(issues, "spec.priority", spec["priority"] ?? -1, 0, 1000);
  const subject = readObject(issues, "spec.subject", spec["subject"], SUBJECT_FIELDS);
  if (subject === undefined || fieldCount(subject) !== 1)
    issues.add("spec.subject", "Expected either namespaces or pods");
  checkLabelSelector(issues, "spec.subject.namespaces", subject?.["namespaces"]);
  checkPods(issues, "spec.subject.pods", subject?.["pods"]);
  for (const [direction, peers] of [
    ["ingress", "from"],
    ["egress", "to"],
  ] as const) {
    for (const [i, rule] of readList(issues, `spec.${direction}`, spec[direction]).entries())
      checkRule(issues, `spec.${direction}[${i}]`, rule, peers);
  }
}

function checkRule(issues: IssueList, path: string, value: unknown, peers: "from" | "to"): void {
  const rule = readObject(issues, path, value ?? 0, new Set(["name", "action", peers, "protocols"]));
  if (rule === undefined) return;
  readString(issues, `${path}.name`, rule["name"]);
  if (isAbsent(rule["action"])) issues.add(`${path}.action`, "Expected one of Accept, Deny, Pass, found none");
  readWord(issues, `${path}.action`, rule["action"], ["Accept", "Deny", "Pass"]);
  const list = readList(issues, `${path}.${peers}`, rule[peers]);
  if (list.length === 0) issues.add(`${path}.${peers}`, "Expected at least one peer");
  for (const [i, peer] of list.entries()) checkPeer(issues, `${path}.${peers}[${i}]`, peer, peers);
  for (const [i, protocol] of readList(issues, `${path}.protocols`, rule["protocols"]).entries())
    checkProtocol(issues, `${path}.protocols[${i}]`, protocol);
}

function checkPeer(issues: IssueList, path: string, value: unknown, peers: "from" | "to"): void {
  const peer = readObject(issues, path, value ?? 0);
  if (peer === undefined) return;
  if (fieldCount(peer) !== 1) issues.add(path, "Expected exactly one kind of peer");
  checkLabelSelector(issues, `${path}.namespaces`, peer["namespaces"]);
  checkPods(issues, `${path}.pods`, peer["pods"]);
  if (peers === "from" && !isAbsent(peer["networks"]))
    issues.add(`${path}.networks`, "Only egress rules name networks");
  const networks = readList(issues, `${path}.networks`, peer["networks"]);
  if (Array.isArray(peer["networks"]) && networks.length === 0)
    issues.add(`${path}.networks`, "Expected at least one network");
  for (const [i, net] of networks.entries()) issues.check(`${path}.networks[${i}]`, netProblem(net));
}

function checkProtocol(issues: IssueList, path: string, value: unknown): void {
  const protocol = readObject(issues, path, value ?? 0, new Set(["tcp", "udp", "sctp", "destinationNamedPort"]));
  if (protocol === undefined) return;
  if (fieldCount(protocol) !== 1) issues.add(path, "Expected exactly one protocol or named port");
  if (!isAbsent(protocol["destinationNamedPort"]))
    issues.check(`${path}.destinationNamedPort`, portNameProblem(protocol["destinationNamedPort"]));
  for (const name of ["tcp", "udp", "sctp"]) {
    const match = readObject(issues, `${path}.${name}`, protocol[name], new Set(["destinationPort"]));
    const at = `${path}.${name}.destinationPort`;
    const port = readObject(issues, at, match?.["destinationPort"], new Set(["number", "range"]));
    if (port === undefined) continue;
    if (fieldCount(port) !== 1) issues.add(at, "Expected either number or range");
    readInteger(issues, `${at}.number`, port["number"], 1, 65_535);
    const range = readObject(issues, `${at}.range`, port["range"], new Set(["start", "end"]));
    if (range === undefined) continue;
    const start = readInteger(issues, `${at}.range.start`, range["start"] ?? 0, 1, 65_535);
    const end = readInteger(issues, `${at}.range.end`, range["end"] ?? 0, 1, 65_535);
    if (start !== undefined && end !== undefined && start > end)
      issues.add(`${at}.range`, expectedBut("start not above end", range));
  }
}
