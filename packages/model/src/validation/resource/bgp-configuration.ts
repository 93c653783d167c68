import { type Fields, isAbsent } from "../field.ts";
import type { IssueList } from "../issue.ts";
import { addressProblem, netProblem } from "../net.ts";
import { eachObject } from "./kubernetes-core.ts";

/** What the agent reads of a BGPConfiguration: the networks of services, and the addresses that workloads peer with. */
export function checkBGPConfiguration(issues: IssueList, spec: Fields): void {
  for (const name of ["serviceClusterIPs", "serviceExternalIPs", "serviceLoadBalancerIPs"]) {
    eachObject(issues, `spec.${name}`, spec[name], (path, { cidr }) => {
      if (!isAbsent(cidr) && cidr !== "") issues.check(`${path}.cidr`, netProblem(cidr));
    });
  }
  for (const [name, family] of [
    ["localWorkloadPeeringIPV4", 4],
    ["localWorkloadPeeringIPV6", 6],
  ] as const) {
    const address = spec[name];
    if (!isAbsent(address) && address !== "") issues.check(`spec.${name}`, addressProblem(address, family));
  }
}
