import type { Family } from "@bulrush/ip";
import { isObject } from "../v3/json-object.ts";
import { isAbsent } from "./field.ts";
import { expectedBut, type IssueList } from "./issue.ts";
import { interfaceProblem, nameProblem } from "./name.ts";
import { addressProblem, netProblem } from "./net.ts";

const MAC = /^[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5}$/;
const PORT_PROTOCOLS: ReadonlySet<unknown> = new Set(["tcp", "udp", "sctp"]);

function checkEach(
  issues: IssueList,
  path: string,
  list: unknown,
  problemOf: (value: unknown) => string | undefined,
): void {
  if (isAbsent(list)) return;
  if (!Array.isArray(list)) {
    issues.add(path, expectedBut("a list", list));
    return;
  }
  for (let i = 0; i < list.length; i++) {
    const problem = problemOf(list[i]);
    if (problem !== undefined) issues.add(`${path}[${i}]`, problem);
  }
}

const net4 = (value: unknown): string | undefined => netProblem(value, 4);
const net6 = (value: unknown): string | undefined => netProblem(value, 6);
const anyNet = (value: unknown): string | undefined => netProblem(value);
const address4 = (value: unknown): string | undefined => addressProblem(value, 4);
const address6 = (value: unknown): string | undefined => addressProblem(value, 6);
const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? undefined : expectedBut("a string", value);

/**
 * Labels must be a map of strings, so that selectors can read them. Their spelling is not checked: a label that no
 * selector can name harms nobody, a missing endpoint does.
 */
export function checkLabels(issues: IssueList, path: string, labels: unknown): void {
  if (isAbsent(labels)) return;
  if (!(labels instanceof Map)) {
    issues.add(path, expectedBut("a map of labels", labels));
    return;
  }
  for (const [key, value] of labels)
    if (typeof key !== "string" || typeof value !== "string")
      issues.add(`${path}[${String(key)}]`, expectedBut("a string", value));
}

/** A rule can name only ports with a name as Kubernetes has them; an endpoint may have others, which nobody can name. */
function portProblem(value: unknown): string | undefined {
  if (!isObject(value)) return expectedBut("a port", value);
  const problem = nameProblem(value["name"]);
  if (problem !== undefined) return problem;
  if (!PORT_PROTOCOLS.has(value["protocol"])) return expectedBut("protocol tcp, udp or sctp", value["protocol"]);
  const { port } = value;
  return typeof port === "number" && Number.isInteger(port) && port >= 1 && port <= 65535
    ? undefined
    : expectedBut("a port from 1 to 65535", port);
}

function natProblem(family: Family): (value: unknown) => string | undefined {
  return (value) =>
    isObject(value)
      ? (addressProblem(value["int_ip"], family) ?? addressProblem(value["ext_ip"], family))
      : expectedBut("a NAT mapping", value);
}

const nat4 = natProblem(4);
const nat6 = natProblem(6);

function checkQoS(issues: IssueList, value: unknown): void {
  if (isAbsent(value)) return;
  if (!isObject(value)) issues.add("qosControls", expectedBut("an object", value));
  else
    for (const [name, field] of Object.entries(value))
      if (!isAbsent(field) && typeof field !== "number")
        issues.add(`qosControls.${name}`, expectedBut("a number", field));
}

/** A workload endpoint needs an interface; the rest may be empty. */
export function checkWorkloadEndpoint(issues: IssueList, value: unknown): void {
  if (!isObject(value)) {
    issues.add("", expectedBut("an object", value));
    return;
  }
  issues.check("name", text(value["name"]));
  if (!isAbsent(value["state"]) && typeof value["state"] !== "string")
    issues.add("state", expectedBut("a string", value["state"]));
  const { mac } = value;
  if (!isAbsent(mac) && mac !== "" && !(typeof mac === "string" && MAC.test(mac)))
    issues.add("mac", expectedBut("a MAC address", mac));
  checkEach(issues, "profile_ids", value["profile_ids"], text);
  checkEach(issues, "ipv4_nets", value["ipv4_nets"], net4);
  checkEach(issues, "ipv6_nets", value["ipv6_nets"], net6);
  checkEach(issues, "ipv4_nat", value["ipv4_nat"], nat4);
  checkEach(issues, "ipv6_nat", value["ipv6_nat"], nat6);
  checkLabels(issues, "labels", value["labels"]);
  if (!isAbsent(value["ipv4_gateway"]) && value["ipv4_gateway"] !== "")
    issues.check("ipv4_gateway", address4(value["ipv4_gateway"]));
  if (!isAbsent(value["ipv6_gateway"]) && value["ipv6_gateway"] !== "")
    issues.check("ipv6_gateway", address6(value["ipv6_gateway"]));
  checkEach(issues, "ports", value["ports"], portProblem);
  checkEach(issues, "allow_spoofed_source_ips", value["allow_spoofed_source_ips"], anyNet);
  checkLabels(issues, "annotations", value["annotations"]);
  checkQoS(issues, value["qosControls"]);
}

/** A host endpoint has an interface name, `*`, or none when it is found by its addresses. */
export function checkHostEndpoint(issues: IssueList, value: unknown): void {
  if (!isObject(value)) {
    issues.add("", expectedBut("an object", value));
    return;
  }
  const { name } = value;
  if (!isAbsent(name) && name !== "") issues.check("name", interfaceProblem(name, true));
  checkEach(issues, "expected_ipv4_addrs", value["expected_ipv4_addrs"], address4);
  checkEach(issues, "expected_ipv6_addrs", value["expected_ipv6_addrs"], address6);
  checkLabels(issues, "labels", value["labels"]);
  checkEach(issues, "profile_ids", value["profile_ids"], nameProblem);
  checkEach(issues, "ports", value["ports"], portProblem);
  checkQoS(issues, value["qosControls"]);
}

/** Networks with labels. */
export function checkNetworkSet(issues: IssueList, value: unknown): void {
  if (!isObject(value)) {
    issues.add("", expectedBut("an object", value));
    return;
  }
  checkEach(issues, "nets", value["nets"], anyNet);
  checkLabels(issues, "labels", value["labels"]);
  checkEach(issues, "profile_ids", value["profile_ids"], text);
}
