import type { Family } from "@bulrush/ip";
import { isObject } from "../../v3/json-object.ts";
import { parseAsNumber } from "../../v1/node-facts.ts";
import { type Fields, isAbsent, readList, readObject } from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";
import { addressProblem, netProblem } from "../net.ts";
import { wireguardKeyProblem } from "../v1-address-plan.ts";

/** A number from 1 to 4294967295, also as `high.low`. */
export function asNumberProblem(value: unknown): string | undefined {
  return parseAsNumber(value) === undefined ? expectedBut("an AS number", value) : undefined;
}

function checkField(
  issues: IssueList,
  path: string,
  value: unknown,
  problemOf: (value: unknown) => string | undefined,
): void {
  if (!isAbsent(value) && value !== "") issues.check(path, problemOf(value));
}

const address =
  (family: Family) =>
  (value: unknown): string | undefined =>
    addressProblem(value, family);
const net =
  (family: Family) =>
  (value: unknown): string | undefined =>
    netProblem(value, family);

/** The Calico form of a node. */
export function checkNode(issues: IssueList, spec: Fields, status: Fields | undefined): void {
  const bgp = readObject(issues, "spec.bgp", spec["bgp"]);
  if (bgp !== undefined) {
    if (Object.values(bgp).every((value) => isAbsent(value) || value === ""))
      issues.add("spec.bgp", "Expected at least one field");
    checkField(issues, "spec.bgp.asNumber", bgp["asNumber"], asNumberProblem);
    checkField(issues, "spec.bgp.ipv4Address", bgp["ipv4Address"], net(4));
    checkField(issues, "spec.bgp.ipv6Address", bgp["ipv6Address"], net(6));
    checkField(issues, "spec.bgp.ipv4IPIPTunnelAddr", bgp["ipv4IPIPTunnelAddr"], address(4));
    checkField(issues, "spec.bgp.routeReflectorClusterID", bgp["routeReflectorClusterID"], address(4));
  }
  checkField(issues, "spec.ipv4VXLANTunnelAddr", spec["ipv4VXLANTunnelAddr"], address(4));
  checkField(issues, "spec.ipv6VXLANTunnelAddr", spec["ipv6VXLANTunnelAddr"], address(6));
  const wireguard = readObject(issues, "spec.wireguard", spec["wireguard"]);
  checkField(issues, "spec.wireguard.interfaceIPv4Address", wireguard?.["interfaceIPv4Address"], address(4));
  checkField(issues, "spec.wireguard.interfaceIPv6Address", wireguard?.["interfaceIPv6Address"], address(6));
  for (const [i, item] of readList(issues, "spec.addresses", spec["addresses"]).entries())
    if (!isObject(item) || typeof item["address"] !== "string" || item["address"] === "")
      issues.add(`spec.addresses[${i}].address`, expectedBut("an address", isObject(item) ? item["address"] : item));
  checkField(issues, "status.wireguardPublicKey", status?.["wireguardPublicKey"], wireguardKeyProblem);
  checkField(issues, "status.wireguardPublicKeyV6", status?.["wireguardPublicKeyV6"], wireguardKeyProblem);
}
