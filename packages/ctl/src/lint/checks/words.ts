import { isObject, type JsonObject } from "@bulrush/model";
import { asClear } from "../../input/as-clear.ts";
import type { LintContext } from "../context.ts";
import type { Warning } from "../warning.ts";

/** Actions and types that are not written as Calico's API has them: they count all the same. */
export function* wordWarnings({ resources }: LintContext): Iterable<Warning> {
  for (const entry of resources) {
    const clear = asClear(entry.resource);
    if (clear === entry.resource) continue;
    const meant = wordsOf(clear.spec);
    for (const [field, word] of wordsOf(entry.resource.spec)) {
      const name = meant.get(field);
      if (name === word) continue;
      const message = `It counts as "${String(name)}"; Calico's API takes that spelling only, and refuses "${String(word)}"`;
      yield { code: "word-in-other-case", entry, field, message };
    }
  }
}

/** Every action and type, by its field. */
function wordsOf(spec: unknown): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  if (!isObject(spec)) return found;
  for (const [i, type] of listOf(spec, "types").entries()) found.set(`spec.types[${i}]`, type);
  for (const direction of ["ingress", "egress"])
    for (const [i, rule] of listOf(spec, direction).entries())
      if (isObject(rule)) found.set(`spec.${direction}[${i}].action`, rule["action"]);
  return found;
}

function listOf(value: JsonObject, name: string): readonly unknown[] {
  const list = value[name];
  return Array.isArray(list) ? list : [];
}
