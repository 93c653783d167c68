import { containsCidr, parseCidr } from "@bulrush/ip";
import { isObject } from "../v3/json-object.ts";
import { isWireguardKey } from "../v1/node-facts.ts";
import { isAbsent, readBoolean, readList, readString, readWord } from "./field.ts";
import { expectedBut, type IssueList } from "./issue.ts";
import { addressProblem, maskedNetProblem, readNet } from "./net.ts";

const LINK_LOCAL = ["169.254.0.0/16", "fe80::/10"].map((text) => parseCidr(text)).filter((cidr) => cidr !== undefined);

/** A pool's network: masked, and not link-local. */
export function poolNetProblem(value: unknown): string | undefined {
  const problem = maskedNetProblem(value);
  if (problem !== undefined) return problem;
  const cidr = readNet(value);
  const local = cidr !== undefined && LINK_LOCAL.some((net) => containsCidr(net, cidr) || containsCidr(cidr, net));
  return local && (cidr?.prefixLength ?? 0) > 0 ? expectedBut("a network that is not link-local", value) : undefined;
}

const MODES = ["always", "cross-subnet", ""] as const;

export function checkIPPool(issues: IssueList, value: unknown): void {
  if (!isObject(value)) {
    issues.add("", expectedBut("an object", value));
    return;
  }
  issues.check("cidr", poolNetProblem(value["cidr"]));
  readString(issues, "ipip", value["ipip"]);
  readWord(issues, "ipip_mode", value["ipip_mode"], MODES);
  readWord(issues, "vxlan_mode", value["vxlan_mode"], MODES);
  for (const name of ["masquerade", "ipam", "disabled", "disableBGPExport"]) readBoolean(issues, name, value[name]);
  readWord(issues, "assignment_mode", value["assignment_mode"], ["Automatic", "Manual"]);
  for (const [i, use] of readList(issues, "allowed_uses", value["allowed_uses"]).entries())
    readString(issues, `allowed_uses[${i}]`, use);
}

/** An IPAM block: allocations point into its attributes. */
export function checkBlock(issues: IssueList, value: unknown): void {
  if (!isObject(value)) {
    issues.add("", expectedBut("an object", value));
    return;
  }
  issues.check("cidr", maskedNetProblem(value["cidr"]));
  readString(issues, "affinity", value["affinity"]);
  const attributes = readList(issues, "attributes", value["attributes"]);
  for (const [i, attribute] of attributes.entries())
    if (!isObject(attribute)) issues.add(`attributes[${i}]`, expectedBut("an object", attribute));
  for (const [i, index] of readList(issues, "allocations", value["allocations"]).entries()) {
    if (index === null) continue;
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= attributes.length)
      issues.add(`allocations[${i}]`, expectedBut("null or the index of an attribute", index));
  }
}

/** A WireGuard public key: 32 bytes in base64 (44 characters). */
export function wireguardKeyProblem(value: unknown): string | undefined {
  return isWireguardKey(value) ? undefined : expectedBut("a WireGuard public key in base64", value);
}

export function checkWireguard(issues: IssueList, value: unknown): void {
  if (!isObject(value)) {
    issues.add("", expectedBut("an object", value));
    return;
  }
  const checks: readonly (readonly [string, (value: unknown) => string | undefined])[] = [
    ["interfaceIPv4Addr", (field) => addressProblem(field, 4)],
    ["publicKey", wireguardKeyProblem],
    ["interfaceIPv6Addr", (field) => addressProblem(field, 6)],
    ["publicKeyV6", wireguardKeyProblem],
  ];
  for (const [name, problemOf] of checks) {
    const field = value[name];
    if (!isAbsent(field) && field !== "") issues.check(name, problemOf(field));
  }
}
