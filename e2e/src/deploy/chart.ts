import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import type { KubeObject } from "../kube/kube-admin.ts";
import { renderTemplate } from "./helm-template.ts";
import { asObject, DEPLOY, isMap, type JsonMap, parseYaml, readYaml } from "./manifest.ts";

export const CHART: string = join(DEPLOY, "helm", "bulrush");

/** Maps are merged, everything else is replaced: as Helm does with a second file of values. */
function mergeValues(base: JsonMap, changes: JsonMap): JsonMap {
  const merged = { ...base };
  for (const [key, value] of Object.entries(changes)) {
    const own = merged[key];
    merged[key] = isMap(own) && isMap(value) ? mergeValues(own, value) : value;
  }
  return merged;
}

/** What `helm template --namespace NAMESPACE` gives with these values beside the chart's own. */
export function renderChart(values: JsonMap = {}, namespace = "kube-system"): KubeObject[] {
  const [defaults] = readYaml(join(CHART, "values.yaml"));
  if (!isMap(defaults)) throw new Error("values.yaml is not a map");
  const world = {
    root: { Values: mergeValues(defaults, values), Release: { Namespace: namespace, Name: "bulrush" } },
    file: (path: string) => readFileSync(join(CHART, path), "utf8"),
    toYaml: (value: unknown) => stringify(value),
  };
  const directory = join(CHART, "templates");
  return readdirSync(directory)
    .sort()
    .flatMap((name) => {
      const text = renderTemplate(readFileSync(join(directory, name), "utf8"), world);
      return parseYaml(text, name).map((value) => asObject(value, name));
    });
}
