import { type Fields, isAbsent, readList } from "../field.ts";
import type { IssueList } from "../issue.ts";
import { dnsSubdomainProblem, interfaceProblem, nameProblem } from "../name.ts";
import { addressProblem } from "../net.ts";
import { checkEndpointPorts } from "./endpoint-port.ts";

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
  checkEndpointPorts(issues, "spec.ports", spec["ports"], "host");
}
