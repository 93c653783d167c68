import { isObject } from "../../v3/json-object.ts";
import { type Fields, isAbsent, readInteger, readList, readObject } from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";
import { netProblem } from "../net.ts";
import { readPort } from "../port.ts";
import { checkSelector } from "./selector.ts";

const MAX_TABLES = 65_535;
const MAX_NODE_PORT_RANGES = 7;
/** "openstack-region-" stands before it in a DNS label of 63. */
const REGION = /^[a-z0-9](?:[-a-z0-9]{0,44}[a-z0-9])?$/;
const RANGE_FIELDS: ReadonlySet<string> = new Set(["min", "max"]);
const FAILSAFE_FIELDS: ReadonlySet<string> = new Set(["protocol", "port", "net"]);
const FAILSAFE_PROTOCOLS: ReadonlySet<unknown> = new Set(["tcp", "udp", "sctp"]);
const PATTERN_FIELDS = [
  "bpfDataIfacePattern",
  "bpfL3IfacePattern",
  "mtuIfacePattern",
  "nftablesFlowTableDataIfacePattern",
  "logDebugFilenameRegex",
] as const;

/**
 * The fields whose form can be wrong in ways that the reader of the configuration does not see. Other fields, and
 * fields that we do not know, pass: each setting checks its own value.
 */
export function checkFelixConfiguration(issues: IssueList, spec: Fields, metadata: Fields): void {
  const name = metadata["name"];
  if (!isAbsent(spec["nodeSelector"]) && spec["nodeSelector"] !== "") {
    if (name === "default" || (typeof name === "string" && name.startsWith("node.")))
      issues.add("spec.nodeSelector", `May not stand in "${name}", which says by its name where it holds`);
    checkSelector(issues, "spec.nodeSelector", spec["nodeSelector"]);
  }
  for (const field of ["failsafeInboundHostPorts", "failsafeOutboundHostPorts"])
    checkFailsafes(issues, `spec.${field}`, spec[field]);
  checkRouteTables(issues, spec);
  checkNodePorts(issues, spec["kubeNodePortRanges"]);
  for (const [i, net] of readList(issues, "spec.externalNodesList", spec["externalNodesList"]).entries())
    issues.check(`spec.externalNodesList[${i}]`, netProblem(net, 4));
  const region = spec["openstackRegion"];
  if (!isAbsent(region) && region !== "" && !(typeof region === "string" && REGION.test(region)))
    issues.add("spec.openstackRegion", expectedBut("at most 46 lower-case letters, digits and -", region));
  readInteger(issues, "spec.wireguardRoutingRulePriority", spec["wireguardRoutingRulePriority"], 1, 32_765);
  for (const field of PATTERN_FIELDS) checkPattern(issues, `spec.${field}`, spec[field]);
  checkInterfaceExclude(issues, spec["interfaceExclude"]);
  checkTimeouts(issues, spec["healthTimeoutOverrides"]);
}

function checkFailsafes(issues: IssueList, path: string, value: unknown): void {
  for (const [i, item] of readList(issues, path, value).entries()) {
    const at = `${path}[${i}]`;
    const failsafe = readObject(issues, at, item ?? 0, FAILSAFE_FIELDS);
    if (failsafe === undefined) continue;
    const { protocol } = failsafe;
    if (!isAbsent(protocol) && !FAILSAFE_PROTOCOLS.has(typeof protocol === "string" ? protocol.toLowerCase() : ""))
      issues.add(`${at}.protocol`, expectedBut("TCP, UDP or SCTP", protocol));
    readInteger(issues, `${at}.port`, failsafe["port"] ?? -1, 0, 65_535);
    if (!isAbsent(failsafe["net"]) && failsafe["net"] !== "") issues.check(`${at}.net`, netProblem(failsafe["net"]));
  }
}

function readRange(
  issues: IssueList,
  path: string,
  value: unknown,
  min: number,
  max: number,
): { readonly min: number; readonly max: number } | undefined {
  const range = readObject(issues, path, value, RANGE_FIELDS);
  if (range === undefined) return undefined;
  const first = readInteger(issues, `${path}.min`, range["min"] ?? 0, min, max);
  const last = readInteger(issues, `${path}.max`, range["max"] ?? 0, min, max);
  if (first === undefined || last === undefined) return undefined;
  if (first > last) issues.add(path, expectedBut("min not above max", value));
  return { min: first, max: last };
}

function checkRouteTables(issues: IssueList, spec: Fields): void {
  readRange(issues, "spec.routeTableRange", spec["routeTableRange"], 1, 250);
  const ranges = readList(issues, "spec.routeTableRanges", spec["routeTableRanges"]);
  if (!isAbsent(spec["routeTableRange"]) && ranges.length > 0)
    issues.add("spec.routeTableRanges", "routeTableRange and routeTableRanges exclude each other");
  let tables = 0;
  for (const [i, range] of ranges.entries()) {
    const read = readRange(issues, `spec.routeTableRanges[${i}]`, range ?? 0, 1, 0xffff_ffff);
    if (read !== undefined) tables += Math.max(0, read.max - read.min + 1);
  }
  if (tables > MAX_TABLES)
    issues.add(
      "spec.routeTableRanges",
      `Expected at most ${MAX_TABLES} tables in all ranges together, found ${tables}`,
    );
}

function checkNodePorts(issues: IssueList, value: unknown): void {
  const ranges = readList(issues, "spec.kubeNodePortRanges", value);
  if (ranges.length > MAX_NODE_PORT_RANGES)
    issues.add("spec.kubeNodePortRanges", `Expected at most ${MAX_NODE_PORT_RANGES} ranges, found ${ranges.length}`);
  for (const [i, item] of ranges.entries()) {
    const read = readPort(item);
    if (typeof read === "string") issues.add(`spec.kubeNodePortRanges[${i}]`, read);
    else if (read.type === "name")
      issues.add(`spec.kubeNodePortRanges[${i}]`, expectedBut("a numeric port range", item));
  }
}

function checkPattern(issues: IssueList, path: string, value: unknown): void {
  if (isAbsent(value) || value === "") return;
  if (typeof value !== "string") {
    issues.add(path, expectedBut("a regular expression", value));
    return;
  }
  try {
    // Flags at the beginning and named groups are written otherwise in Go, whose expressions these are.
    new RegExp(value.replace(/^\(\?[imsU]+\)/, "").replaceAll("(?P<", "(?<"));
  } catch {
    issues.add(path, expectedBut("a regular expression", value));
  }
}

/** Names and, between slashes, regular expressions, separated by commas. */
function checkInterfaceExclude(issues: IssueList, value: unknown): void {
  if (typeof value !== "string") return;
  for (const part of value.split(","))
    if (part.length > 1 && part.startsWith("/") && part.endsWith("/"))
      checkPattern(issues, "spec.interfaceExclude", part.slice(1, -1));
}

function checkTimeouts(issues: IssueList, value: unknown): void {
  for (const [i, item] of readList(issues, "spec.healthTimeoutOverrides", value).entries()) {
    const at = `spec.healthTimeoutOverrides[${i}]`;
    if (!isObject(item)) issues.add(at, expectedBut("an object", item));
    else {
      for (const name of ["name", "timeout"])
        if (typeof item[name] !== "string" || item[name] === "")
          issues.add(`${at}.${name}`, expectedBut("a string", item[name]));
    }
  }
}
