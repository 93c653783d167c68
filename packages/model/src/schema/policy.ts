import { selector } from "./common.ts";
import { egressRule, ingressRule, MAX_RULES } from "./rule.ts";
import {
  boolean,
  listOf,
  mapOf,
  number,
  object,
  type ObjectShape,
  oneOf,
  type Rule,
  setOf,
  type Shape,
  text,
} from "./shape.ts";

/** Of a policy whether it is for what comes in or for what goes out. */
export const directions: Shape = setOf(oneOf(["Ingress", "Egress"]), {
  about: "Directions that the policy is for. Default: those that its rules are for; Ingress where it has none.",
});

const COMMON: Readonly<Record<string, Shape>> = {
  tier: text({ default: "default", about: "The tier that the policy stands in." }),
  order: number({ about: "Where the policy stands in its tier: lower first, and last where there is no order." }),
  selector: selector("The endpoints that the policy is for. Default: all of its scope."),
  serviceAccountSelector: selector("Only endpoints whose service account has these labels."),
  types: directions,
  ingress: listOf(ingressRule, { maxItems: MAX_RULES, about: "Rules for what comes in, in order." }),
  egress: listOf(egressRule, { maxItems: MAX_RULES, about: "Rules for what goes out, in order." }),
  performanceHints: setOf(text()),
};

const GLOBAL: Readonly<Record<string, Shape>> = {
  namespaceSelector: selector("Only workloads in namespaces that have these labels."),
  doNotTrack: boolean({ about: "Before connection tracking, on host endpoints." }),
  preDNAT: boolean({ about: "Before destination NAT, on host endpoints." }),
  applyOnForward: boolean({ about: "Also for traffic that the host forwards." }),
};

export const stagedAction: Shape = oneOf(["Set", "Delete", "Learn", "Ignore", ""]);

const GLOBAL_RULES: readonly Rule[] = [
  {
    cel: "!(has(self.preDNAT) && self.preDNAT && has(self.doNotTrack) && self.doNotTrack)",
    message: "preDNAT and doNotTrack exclude each other",
  },
  {
    cel: "!((has(self.preDNAT) && self.preDNAT) || (has(self.doNotTrack) && self.doNotTrack)) || (has(self.applyOnForward) && self.applyOnForward)",
    message: "preDNAT and doNotTrack need applyOnForward",
  },
  {
    cel: "!(has(self.preDNAT) && self.preDNAT) || ((!has(self.egress) || size(self.egress) == 0) && (!has(self.types) || !('Egress' in self.types)))",
    message: "a preDNAT policy has no egress rules",
  },
];

/** What may be said beside `stagedAction: Delete`; the types may, since they are filled in by default. */
const BESIDE_DELETE: ReadonlySet<string> = new Set(["tier", "stagedAction", "types", "policyTypes"]);

function isUnset(name: string, { type }: Shape): string {
  const is = type === "text" ? " == ''" : type === "boolean" ? " == false" : type === "number" ? " == 0.0" : undefined;
  if (type === "list") return `(!has(self.${name}) || size(self.${name}) == 0)`;
  return is === undefined ? `!has(self.${name})` : `(!has(self.${name}) || self.${name}${is})`;
}

/** A staged policy that deletes says which policy, and nothing of its content. */
export function deletesOnly(fields: Readonly<Record<string, Shape>>): Rule {
  const others = Object.entries(fields).filter(([name]) => !BESIDE_DELETE.has(name));
  return {
    cel: `!has(self.stagedAction) || self.stagedAction != 'Delete' || (${others.map(([name, shape]) => isUnset(name, shape)).join(" && ")})`,
    message: "a staged policy that deletes has no other fields",
  };
}

export const networkPolicySpec: ObjectShape = object(COMMON);
export const globalNetworkPolicySpec: ObjectShape = object({ ...COMMON, ...GLOBAL }, { rules: GLOBAL_RULES });
export const stagedNetworkPolicySpec: ObjectShape = object(
  { ...COMMON, stagedAction },
  { rules: [deletesOnly(COMMON)] },
);
export const stagedGlobalNetworkPolicySpec: ObjectShape = object(
  { ...COMMON, ...GLOBAL, stagedAction },
  { rules: [...GLOBAL_RULES, deletesOnly({ ...COMMON, ...GLOBAL })] },
);

export const tierSpec: ObjectShape = object({
  order: number({ about: "Lower first. Default: 1,000,000." }),
  defaultAction: oneOf(["Deny", "Pass"], {
    about: "For what a policy of the tier is for and no rule decides. Default: Deny.",
  }),
});

export const profileSpec: ObjectShape = object({
  ingress: listOf(ingressRule),
  egress: listOf(egressRule),
  labelsToApply: mapOf(text()),
});
