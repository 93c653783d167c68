import { isList, isMap, type Json, type JsonMap } from "./manifest.ts";

/** By which field the entries of a list are told apart; other lists are replaced. Of Kubernetes' own pod template. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  containers: "name",
  initContainers: "name",
  env: "name",
  volumes: "name",
  volumeMounts: "mountPath",
  ports: "containerPort",
};

/** A strategic merge patch, as far as our overlays use it: maps and keyed lists are merged, everything else is replaced. */
export function strategicMerge(target: Json | undefined, patch: Json, field = ""): Json {
  if (isMap(patch)) {
    const base: JsonMap = isMap(target) ? target : {};
    const merged: Record<string, Json> = { ...base };
    for (const [key, value] of Object.entries(patch)) {
      if (value === null) delete merged[key];
      else merged[key] = strategicMerge(base[key], value, key);
    }
    return merged;
  }
  const key = MERGE_KEYS[field];
  if (!isList(patch) || !isList(target) || key === undefined) return patch;
  const result = [...target];
  for (const entry of patch) {
    const id = isMap(entry) ? entry[key] : undefined;
    const at = result.findIndex((own) => isMap(own) && own[key] === id);
    if (at === -1) result.push(entry);
    else result[at] = strategicMerge(result[at], entry);
  }
  return result;
}
