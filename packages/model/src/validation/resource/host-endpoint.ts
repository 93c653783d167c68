import { type Fields, isAbsent, readInteger, readList, readObject } from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";
import { dnsSubdomainProblem, interfaceProblem, nameProblem, portNameProblem } from "../name.ts";
import { addressProblem } from "../net.ts";
import { hasPorts } from "../protocol.ts";

export const HOST_ENDPOINT_FIELDS: ReadonlySet<string> = new Set([
  "node",
  "interfaceName",
  "expectedIPs",
  "profiles",
  "ports",
]);
const PORT_FIELDS: ReadonlySet<string> = new Set(["name", "protocol", "port"]);

/** Named ports of an endpoint. */
function checkEndpointPorts(issues: IssueList, path: string, value: unknown): void {
  for (const [i, item] of readList(issues, path, value).entries()) {
    const at = `${path}[${i}]`;
    const port = readObject(issues, at, item ?? 0, PORT_FIELDS);
    if (port === undefined) continue;
    issues.check(`${at}.name`, portNameProblem(port["name"]));
    const { protocol } = port;
    if (typeof protocol !== "string" || !hasPorts(protocol.toLowerCase()))
      issues.add(`${at}.protocol`, expectedBut("TCP, UDP or SCTP", protocol));
    readInteger(issues, `${at}.port`, port["port"] ?? 0, 1, 65535);
  }
}

export function checkHostEndpoint(issues: IssueList, spec: Fields): void {
  issues.check("spec.node", dnsSubdomainProblem(spec["node"]));
  const { interfaceName } = spec;
  const named = !isAbsent(interfaceName) && interfaceName !== "";
  if (named) issues.check("spec.interfaceName", interfaceProblem(interfaceName, true));
  const addresses = readList(issues, "spec.expectedIPs", spec["expectedIPs"]);
  for (const [i, address] of addresses.entries()) issues.check(`spec.expectedIPs[${i}]`, addressProblem(address));
  if (!named && addresses.length === 0) issues.add("spec.interfaceName", "Expected an interface or expectedIPs");
  for (const [i, profile] of readList(issues, "spec.profiles", spec["profiles"]).entries())
    issues.check(`spec.profiles[${i}]`, nameProblem(profile));
  checkEndpointPorts(issues, "spec.ports", spec["ports"]);
}
