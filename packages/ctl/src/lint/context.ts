import type { ManifestResource } from "@bulrush/datastore";
import type { PolicyView } from "./policy-view.ts";
import type { Population } from "./population.ts";

/** What the checks look at: a whole set of resources, as written and as the graph has it. */
export interface LintContext {
  readonly resources: readonly ManifestResource[];
  readonly policies: readonly PolicyView[];
  readonly population: Population;
}
