import { type Cidr, containsAddress, isHostCidr, parseAddress } from "@bulrush/ip";
import { type Fields, isAbsent, readList, readObject } from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";
import { dnsSubdomainProblem, interfaceProblem, nameProblem } from "../name.ts";
import { addressProblem, netProblem, readNet } from "../net.ts";
import { checkEndpointPorts } from "./endpoint-port.ts";

const NAT_FIELDS: ReadonlySet<string> = new Set(["internalIP", "externalIP"]);

/** A network of one address, or an address. */
function singleAddressProblem(value: unknown): string | undefined {
  const problem = netProblem(value);
  if (problem !== undefined) return problem;
  return isHostCidr(readNet(value) as Cidr) ? undefined : expectedBut("a network of one address", value);
}

/** Addresses, NAT, interface, profiles and ports; what an orchestrator writes beside them is its own. */
export function checkWorkloadEndpoint(issues: IssueList, spec: Fields): void {
  issues.check("spec.node", dnsSubdomainProblem(spec["node"]));
  const { interfaceName } = spec;
  if (!isAbsent(interfaceName) && interfaceName !== "")
    issues.check("spec.interfaceName", interfaceProblem(interfaceName, false));
  const networks = readList(issues, "spec.ipNetworks", spec["ipNetworks"]);
  for (const [i, net] of networks.entries()) issues.check(`spec.ipNetworks[${i}]`, singleAddressProblem(net));
  const own = networks.map(readNet).filter((net) => net !== undefined);
  for (const [i, nat] of readList(issues, "spec.ipNATs", spec["ipNATs"]).entries())
    checkNat(issues, `spec.ipNATs[${i}]`, nat, own);
  for (const family of [4, 6] as const) {
    const gateway = spec[`ipv${family}Gateway`];
    if (!isAbsent(gateway) && gateway !== "") issues.check(`spec.ipv${family}Gateway`, addressProblem(gateway, family));
  }
  for (const [i, profile] of readList(issues, "spec.profiles", spec["profiles"]).entries())
    issues.check(`spec.profiles[${i}]`, nameProblem(profile));
  checkEndpointPorts(issues, "spec.ports", spec["ports"], "workload");
}

function checkNat(issues: IssueList, path: string, value: unknown, own: readonly Cidr[]): void {
  const nat = readObject(issues, path, value ?? 0, NAT_FIELDS);
  if (nat === undefined) return;
  const internal = typeof nat["internalIP"] === "string" ? parseAddress(nat["internalIP"]) : undefined;
  issues.check(`${path}.internalIP`, addressProblem(nat["internalIP"]));
  issues.check(`${path}.externalIP`, addressProblem(nat["externalIP"], internal?.family));
  if (internal !== undefined && !own.some((net) => containsAddress(net, internal)))
    issues.add(`${path}.internalIP`, expectedBut("an address among ipNetworks", nat["internalIP"]));
}
