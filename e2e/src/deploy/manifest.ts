import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../kube/kube-admin.ts";

const ROOT: string = join(import.meta.dirname, "..", "..", "..");
/** What is shipped. */
export const DEPLOY: string = join(ROOT, "deploy");

/** Whatever JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonMap = Readonly<Record<string, Json>>;

export function isMap(value: Json | undefined): value is JsonMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** The documents of a YAML text; empty ones left out. @throws Error that names the file. */
export function parseYaml(text: string, file: string): Json[] {
  const documents = parseAllDocuments(text, { stringKeys: true, uniqueKeys: true });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document): Json[] => {
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`${file}: ${error.message}`);
    const value = document.toJS() as Json;
    return value === null ? [] : [value];
  });
}

export function readYaml(file: string): Json[] {
  return parseYaml(readFileSync(file, "utf8"), file);
}

/** @throws Error when it is no object of Kubernetes. */
export function asObject(value: Json, file: string): KubeObject {
  if (isMap(value) && typeof value["apiVersion"] === "string" && typeof value["kind"] === "string")
    if (isMap(value["metadata"])) return value as unknown as KubeObject;
  throw new Error(`${file}: not an object of Kubernetes: ${JSON.stringify(value).slice(0, 80)}`);
}

export function identityOf({ apiVersion, kind, metadata }: KubeObject): string {
  return `${apiVersion} ${kind} ${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}
