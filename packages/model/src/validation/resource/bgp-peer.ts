import { parseAddress } from "@bulrush/ip";
import { type Fields, isAbsent, readInteger, readWords } from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";
import { dnsSubdomainProblem } from "../name.ts";
import { addressProblem } from "../net.ts";
import { asNumberProblem } from "./node.ts";
import { checkSelector } from "./selector.ts";

/** `10.0.0.1`, `fd00::1`, `10.0.0.1:179` or `[fd00::1]:179`: its family, or undefined. */
function peerFamily(value: unknown): 4 | 6 | undefined {
  if (typeof value !== "string") return undefined;
  const plain = parseAddress(value);
  if (plain !== undefined) return plain.family;
  const match = /^(?:\[([^\]]+)\]|([0-9.]+)):([0-9]{1,5})$/.exec(value);
  if (match === null) return undefined;
  const port = Number(match[3]);
  const address = parseAddress(match[1] ?? match[2] ?? "");
  const right = address !== undefined && address.family === (match[1] === undefined ? 4 : 6);
  return right && port >= 1 && port <= 65_535 ? address.family : undefined;
}

function isSet(value: unknown): boolean {
  return !isAbsent(value) && value !== "" && value !== 0;
}

export function checkBGPPeer(issues: IssueList, spec: Fields): void {
  const family = isSet(spec["peerIP"]) ? peerFamily(spec["peerIP"]) : undefined;
  if (isSet(spec["peerIP"]) && family === undefined)
    issues.add("spec.peerIP", expectedBut("an address, IPv4:port or [IPv6]:port", spec["peerIP"]));
  if (isSet(spec["node"]) && isSet(spec["nodeSelector"]))
    issues.add("spec.nodeSelector", "node and nodeSelector exclude each other");
  for (const name of ["nodeSelector", "peerSelector", "localWorkloadSelector"])
    checkSelector(issues, `spec.${name}`, spec[name]);
  if (isSet(spec["asNumber"])) issues.check("spec.asNumber", asNumberProblem(spec["asNumber"]));
  if (isSet(spec["peerSelector"])) {
    for (const name of ["peerIP", "asNumber"])
      if (isSet(spec[name])) issues.add(`spec.${name}`, "May not stand beside peerSelector");
  }
  if (isSet(spec["localWorkloadSelector"]) && !isSet(spec["asNumber"]))
    issues.add("spec.asNumber", "Expected an AS number, which localWorkloadSelector needs");
  if (isSet(spec["reachableBy"])) issues.check("spec.reachableBy", addressProblem(spec["reachableBy"], family));
}

export function checkNodeStatus(issues: IssueList, spec: Fields): void {
  issues.check("spec.node", dnsSubdomainProblem(spec["node"]));
  readWords(issues, "spec.classes", spec["classes"], ["Agent", "BGP", "Routes"]);
  readInteger(issues, "spec.updatePeriodSeconds", spec["updatePeriodSeconds"], 0, 86_400);
}
