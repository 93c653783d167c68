import type { ManifestResource } from "@bulrush/datastore";
import type { Update } from "@bulrush/model";
import { hostWarnings } from "./checks/hosts.ts";
import { namespaceWarnings } from "./checks/namespaces.ts";
import { networkWarnings } from "./checks/networks.ts";
import { poolWarnings } from "./checks/pools.ts";
import { portNameWarnings } from "./checks/port-names.ts";
import { ruleWarnings } from "./checks/rules.ts";
import { selectorWarnings } from "./checks/selectors.ts";
import { servicePortWarnings } from "./checks/service-ports.ts";
import { settingWarnings } from "./checks/settings.ts";
import { shadowWarnings } from "./checks/shadows.ts";
import { tierWarnings } from "./checks/tiers.ts";
import { wordWarnings } from "./checks/words.ts";
import type { LintContext } from "./context.ts";
import { policyViews } from "./policy-view.ts";
import { populationOf } from "./population.ts";
import type { Warning } from "./warning.ts";

const CHECKS: readonly ((context: LintContext) => Iterable<Warning>)[] = [
  ruleWarnings,
  tierWarnings,
  selectorWarnings,
  portNameWarnings,
  shadowWarnings,
  networkWarnings,
  poolWarnings,
  wordWarnings,
  namespaceWarnings,
  servicePortWarnings,
  hostWarnings,
  settingWarnings,
];

/**
 * Names what is legal and surely not meant. Pure. What depends on pods that may be elsewhere (a selector that picks
 * nothing, a port that nobody has) is said only where the set has pods or endpoints.
 *
 * @param resources Valid ones: nothing is said twice.
 * @param updates What the felix syncer makes of all resources.
 * @returns In the order of the resources.
 */
export function lint(resources: readonly ManifestResource[], updates: readonly Update[]): readonly Warning[] {
  const context: LintContext = {
    resources,
    policies: policyViews(resources, updates),
    population: populationOf(resources, updates),
  };
  const order = new Map(resources.map((entry, i) => [entry, i]));
  const warnings = CHECKS.flatMap((check) => [...check(context)]);
  return warnings.sort((a, b) => (order.get(a.entry) ?? 0) - (order.get(b.entry) ?? 0));
}
