import { nearestName } from "@bulrush/base";
import type { ManifestResource } from "@bulrush/datastore";
import { applyDefaults, CALICO_V3, FELIX_FIELDS, felixWithoutEffect, isObject, sameValue } from "@bulrush/model";
import type { LintContext } from "../context.ts";
import type { Warning } from "../warning.ts";

const FIELDS: ReadonlyMap<string, string> = new Map(
  [...FELIX_FIELDS.values()].map(({ field, parameter }) => [field, parameter]),
);

/** What an API server fills in by itself. */
const FILLED_IN = applyDefaults({
  apiVersion: CALICO_V3,
  kind: "FelixConfiguration",
  metadata: { name: "default" },
  spec: {},
}).spec;

/** Settings of agents that are misspelt, and those that ask for what is not there. */
export function* settingWarnings({ resources }: LintContext): Iterable<Warning> {
  for (const entry of resources) if (entry.resource.kind === "FelixConfiguration") yield* warningsOf(entry);
}

function* warningsOf(entry: ManifestResource): Iterable<Warning> {
  const { spec } = entry.resource;
  for (const [name, value] of Object.entries(isObject(spec) ? spec : {})) {
    const field = `spec.${name}`;
    const parameter = FIELDS.get(name);
    if (parameter === undefined) {
      const near = nearestName(name, FIELDS.keys());
      const message = `There is no such setting, and it does nothing${near === undefined ? "" : `; is "${near}" meant?`}`;
      yield { code: "unknown-setting", entry, field, message };
      continue;
    }
    const reason = felixWithoutEffect(parameter);
    const isFilledIn = isObject(FILLED_IN) && sameValue(FILLED_IN[name], value);
    if (reason === undefined || isFilledIn || asksForNothing(value)) continue;
    yield { code: "setting-without-effect", entry, field, message: `It has no effect here: ${reason}` };
  }
}

/** Said, and off: nobody counts on it. */
function asksForNothing(value: unknown): boolean {
  return [undefined, null, false, "", 0, "Disabled", "Off", "None"].includes(value as never);
}
