import { normaliseSelector } from "@bulrush/selector";
import { type Fields, isAbsent, readBoolean, readInteger, readWord, readWords } from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";
import { readNet } from "../net.ts";
import { poolNetProblem } from "../v1-address-plan.ts";
import { checkSelector } from "./selector.ts";

const MODES = ["Always", "CrossSubnet", "Never"] as const;

/** Block sizes as prefix lengths. */
const BLOCKS = { 4: { min: 20, max: 32, default: 26 }, 6: { min: 116, max: 128, default: 122 } } as const;

export function checkIPPool(issues: IssueList, spec: Fields): void {
  issues.check("spec.cidr", poolNetProblem(spec["cidr"]));
  const ipip = readWord(issues, "spec.ipipMode", spec["ipipMode"], MODES);
  const vxlan = readWord(issues, "spec.vxlanMode", spec["vxlanMode"], MODES);
  const withIPIP = ipip !== undefined && ipip !== "Never";
  const withVXLAN = vxlan !== undefined && vxlan !== "Never";
  if (withIPIP && withVXLAN) issues.add("spec.vxlanMode", "ipipMode and vxlanMode exclude each other");
  for (const name of ["natOutgoing", "disabled"]) readBoolean(issues, `spec.${name}`, spec[name]);
  const hidden = readBoolean(issues, "spec.disableBGPExport", spec["disableBGPExport"]);
  checkSelector(issues, "spec.nodeSelector", spec["nodeSelector"]);
  checkSelector(issues, "spec.namespaceSelector", spec["namespaceSelector"]);
  readWord(issues, "spec.assignmentMode", spec["assignmentMode"], ["Automatic", "Manual"]);
  const uses = readWords(issues, "spec.allowedUses", spec["allowedUses"], ["Workload", "Tunnel", "LoadBalancer"]);

  const cidr = readNet(spec["cidr"]);
  if (cidr !== undefined) {
    if (cidr.family === 6 && withIPIP) issues.add("spec.ipipMode", "IPIP needs an IPv4 pool");
    const block = BLOCKS[cidr.family];
    const size = readInteger(issues, "spec.blockSize", spec["blockSize"], block.min, block.max);
    if (isAbsent(spec["blockSize"]) || size !== undefined) {
      const prefix = size ?? block.default;
      if (cidr.prefixLength > prefix)
        issues.add("spec.cidr", expectedBut(`a network that holds a block of /${prefix}`, spec["cidr"]));
    }
  }
  if (uses.includes("LoadBalancer")) checkLoadBalancerPool(issues, spec, uses, withIPIP || withVXLAN, hidden === true);
}

function checkLoadBalancerPool(
  issues: IssueList,
  spec: Fields,
  uses: readonly string[],
  encapsulated: boolean,
  hidden: boolean,
): void {
  if (uses.length > 1) issues.add("spec.allowedUses", "LoadBalancer may only stand alone");
  if (encapsulated) issues.add("spec.allowedUses", "A LoadBalancer pool has no encapsulation");
  if (hidden) issues.add("spec.disableBGPExport", "A LoadBalancer pool is exported");
  const { nodeSelector } = spec;
  if (typeof nodeSelector === "string" && normaliseSelector(nodeSelector) !== "all()")
    issues.add("spec.nodeSelector", expectedBut("all() for a LoadBalancer pool", nodeSelector));
}
