import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "../kube/kube-admin.ts";
import { asObject, isList, isMap, type Json, type JsonMap, parseYaml, readYaml } from "./manifest.ts";
import { strategicMerge } from "./strategic-merge.ts";

const FIELDS: ReadonlySet<string> = new Set([
  "apiVersion",
  "kind",
  "namespace",
  "resources",
  "components",
  "images",
  "patches",
  "configMapGenerator",
]);

/** Kinds without a namespace, of those that are built with one. */
const CLUSTER_KINDS: ReadonlySet<string> = new Set(["Namespace", "ClusterRole", "ClusterRoleBinding"]);

/**
 * What `kubectl kustomize DIRECTORY` gives, in the order of the files, for as much of it as our own directories use. So
 * the manifests are tested on machines without it; where there is a kubectl, the two are compared.
 *
 * @throws Error at anything else.
 */
export function buildKustomization(directory: string): KubeObject[] {
  return kustomize(directory, []);
}

function kustomize(directory: string, given: readonly KubeObject[]): KubeObject[] {
  const file = join(directory, "kustomization.yaml");
  const [value] = readYaml(file);
  if (!isMap(value)) throw new Error(`${file}: not a map`);
  const unknown = Object.keys(value).find((field) => !FIELDS.has(field));
  if (unknown !== undefined) throw new Error(`${file}: ${unknown} is not known to the tests`);
  let objects = [...given, ...texts(value["resources"]).flatMap((path) => resource(join(directory, path)))];
  for (const generator of maps(value["configMapGenerator"])) objects.push(configMap(directory, generator));
  for (const path of texts(value["components"])) objects = kustomize(join(directory, path), objects);
  for (const patch of maps(value["patches"])) objects = patched(directory, objects, patch);
  const { namespace } = value;
  if (typeof namespace === "string") objects = objects.map((object) => inNamespace(object, namespace));
  for (const { name, newName, newTag } of maps(value["images"])) {
    if (typeof name !== "string") continue;
    const image = `${typeof newName === "string" ? newName : name}:${typeof newTag === "string" ? newTag : "latest"}`;
    objects = objects.map((object) => withImage(object as unknown as Json, name, image) as unknown as KubeObject);
  }
  return objects;
}

function resource(path: string): KubeObject[] {
  if (statSync(path).isDirectory()) return kustomize(path, []);
  return readYaml(path).map((value) => asObject(value, path));
}

function texts(value: Json | undefined): string[] {
  return isList(value) ? value.filter((one): one is string => typeof one === "string") : [];
}

function maps(value: Json | undefined): JsonMap[] {
  return isList(value) ? value.filter((one): one is JsonMap => isMap(one)) : [];
}

function configMap(directory: string, { name, files, options }: JsonMap): KubeObject {
  if (typeof name !== "string") throw new Error(`${directory}: a generator without a name`);
  const labels = isMap(options) && isMap(options["labels"]) ? options["labels"] : undefined;
  const data = texts(files).map((entry) => {
    const [key = "", path = ""] = entry.split("=");
    return [key, readFileSync(join(directory, path), "utf8")] as const;
  });
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...(labels !== undefined && { labels }) },
    data: Object.fromEntries(data),
  };
}

function patched(directory: string, objects: readonly KubeObject[], { path, patch, target }: JsonMap): KubeObject[] {
  const [change] =
    typeof path === "string"
      ? readYaml(join(directory, path))
      : parseYaml(typeof patch === "string" ? patch : "", directory);
  if (change === undefined) throw new Error(`${directory}: an empty patch`);
  const wanted = isMap(target) ? target : asTarget(asObject(change, directory));
  let isUsed = false;
  const result = objects.map((object): KubeObject => {
    if (object.kind !== wanted["kind"] || object.metadata.name !== wanted["name"]) return object;
    isUsed = true;
    const value = object as unknown as Json;
    return (isList(change) ? operations(value, change) : strategicMerge(value, change)) as unknown as KubeObject;
  });
  if (!isUsed) throw new Error(`${directory}: nothing to patch: ${JSON.stringify(wanted)}`);
  return result;
}

function asTarget({ kind, metadata }: KubeObject): JsonMap {
  return { kind, name: metadata.name ?? "" };
}

/** JSON patches (RFC 6902) that remove. */
function operations(value: Json, changes: readonly Json[]): Json {
  return changes.reduce<Json>((object, change) => {
    if (!isMap(change) || change["op"] !== "remove" || typeof change["path"] !== "string")
      throw new Error(`Not known to the tests: ${JSON.stringify(change)}`);
    return without(object, change["path"].slice(1).split("/"));
  }, value);
}

function without(value: Json, [field = "", ...rest]: readonly string[]): Json {
  if (!isMap(value) || value[field] === undefined) throw new Error(`There is no ${field} to remove`);
  const { [field]: found, ...others } = value;
  return rest.length === 0 ? others : { ...value, [field]: without(found as Json, rest) };
}

function inNamespace(object: KubeObject, namespace: string): KubeObject {
  if (object.kind === "Namespace") return object;
  const subjects = object["subjects"] as readonly Json[] | undefined;
  return {
    ...object,
    metadata: CLUSTER_KINDS.has(object.kind) ? object.metadata : { ...object.metadata, namespace },
    ...(subjects !== undefined && {
      subjects: subjects.map((subject) => (isMap(subject) ? { ...subject, namespace } : subject)),
    }),
  };
}

function withImage(value: Json, name: string, image: string): Json {
  if (isList(value)) return value.map((entry) => withImage(entry, name, image));
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      key,
      key === "image" && entry === name ? image : withImage(entry, name, image),
    ]),
  );
}
