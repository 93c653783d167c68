import { canonicalCidr } from "@bulrush/ip";
import { type IPPool, isObject } from "@bulrush/model";
import { boolean, type Check, issuesOf, list, object, oneOf, text } from "@bulrush/model/check";
import { conflictCache } from "./conflict-cache.ts";
import { errorAt, specErrors } from "./issue.ts";
import type { UpdateProcessor } from "./processor.ts";

const MODES: ReadonlyMap<string, IPPool["ipip_mode"]> = new Map([
  ["always", "always"],
  ["crosssubnet", "cross-subnet"],
  ["never", ""],
]);

function modeOf(value: unknown): IPPool["ipip_mode"] | undefined {
  if (value === undefined || value === null || value === "") return "";
  return typeof value === "string" ? MODES.get(value.toLowerCase()) : undefined;
}

const FIELDS: Readonly<Record<string, Check>> = {
  disabled: boolean,
  natOutgoing: boolean,
  disableBGPExport: boolean,
  assignmentMode: oneOf("Automatic", "Manual", ""),
  allowedUses: list(text()),
};
const OTHER_FIELDS = Object.keys(FIELDS);
const otherFields = object(FIELDS);

/** IP pools. Two with one CIDR: the lower name counts. */
export function ipPoolProcessor(): UpdateProcessor {
  return conflictCache(({ value }) => {
    const spec = isObject(value?.spec) ? value.spec : {};
    const cidr = typeof spec["cidr"] === "string" ? canonicalCidr(spec["cidr"]) : undefined;
    if (cidr === undefined) return [errorAt("spec.cidr", `Expected a CIDR, found ${JSON.stringify(spec["cidr"])}`)];
    const ipipMode = modeOf(spec["ipipMode"]);
    if (ipipMode === undefined) return [errorAt("spec.ipipMode", "Expected Always, CrossSubnet or Never")];
    const vxlanMode = modeOf(spec["vxlanMode"]);
    if (vxlanMode === undefined) return [errorAt("spec.vxlanMode", "Expected Always, CrossSubnet or Never")];
    const found = issuesOf(otherFields, Object.fromEntries(OTHER_FIELDS.map((name) => [name, spec[name]])));
    if (found.length > 0) return specErrors(found);
    const isDisabled = spec["disabled"] === true;
    const uses = (spec["allowedUses"] ?? []) as readonly string[];
    const pool: IPPool = {
      cidr,
      ipip: ipipMode === "" ? "" : "tunl0",
      ipip_mode: ipipMode,
      vxlan_mode: vxlanMode,
      masquerade: spec["natOutgoing"] === true,
      ipam: !isDisabled,
      disabled: isDisabled,
      disableBGPExport: spec["disableBGPExport"] === true,
      assignment_mode: spec["assignmentMode"] === "Manual" ? "Manual" : "Automatic",
      allowed_uses: uses,
    };
    return { key: { type: "IPPool", cidr }, value: pool };
  });
}
