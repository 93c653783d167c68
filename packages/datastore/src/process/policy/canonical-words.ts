import { isObject, type JsonObject } from "@bulrush/model";

const WORDS: ReadonlyMap<unknown, string> = new Map(
  ["Allow", "Deny", "Log", "Pass", "Ingress", "Egress"].map((word) => [word.toLowerCase(), word]),
);

/**
 * The spec of a Calico policy or profile with its actions and types written as the API writes them. What was put past
 * Calico's own API may have them in another case, which is clear all the same. Anything else is left for the checks to
 * name; a spec without such words comes back as it is.
 */
export function withCanonicalWords(spec: unknown): unknown {
  if (!isObject(spec)) return spec;
  let out: JsonObject | undefined;
  const set = (name: string, value: unknown): void => {
    out ??= { ...spec };
    out[name] = value;
  };
  for (const direction of ["ingress", "egress"]) {
    const rules = spec[direction];
    if (Array.isArray(rules) && rules.some((rule) => isObject(rule) && isOtherCase(rule["action"])))
      set(direction, rules.map(withCanonicalAction));
  }
  const types = spec["types"];
  if (Array.isArray(types) && types.some(isOtherCase)) set("types", types.map(canonical));
  return out ?? spec;
}

function withCanonicalAction(rule: unknown): unknown {
  return isObject(rule) && isOtherCase(rule["action"]) ? { ...rule, action: canonical(rule["action"]) } : rule;
}

function isOtherCase(word: unknown): boolean {
  return canonical(word) !== word;
}

function canonical(word: unknown): unknown {
  return (typeof word === "string" ? WORDS.get(word.toLowerCase()) : undefined) ?? word;
}
