import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "@bulrush/base";
import { isObject } from "@bulrush/model";
import { type KubeAdmin, type KubeObject, KubeRefusal } from "../kube/kube-admin.ts";

const CRDS = join(import.meta.dirname, "..", "..", "..", "deploy", "crds");
const PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CLOCK = systemClock({ keepAlive: true });
const NEVER = new AbortController().signal;

/** Lets everything in. */
const OPEN_SCHEMA = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };

/** Our own definitions of a group without what they check, so that a server takes malformed objects; by kind. */
export async function openDefinitions(admin: KubeAdmin, group: string): Promise<ReadonlyMap<string, KubeObject>> {
  const directory = join(CRDS, group);
  const byKind = new Map<string, KubeObject>();
  for (const file of readdirSync(directory)) {
    // The server reads the YAML for us.
    const text = readFileSync(join(directory, file), "utf8");
    const answer = await admin.request("POST", `${PATH}?dryRun=All`, text, "application/yaml");
    if (answer.status !== 201) throw new KubeRefusal(`POST ${PATH}`, answer);
    const { apiVersion, kind, metadata, spec } = answer.body as KubeObject;
    const { names, versions, ...rest } = spec as {
      readonly names: { readonly kind: string };
      readonly versions: readonly object[];
    };
    byKind.set(names.kind, {
      apiVersion,
      kind,
      metadata: { ...(metadata.name !== undefined && { name: metadata.name }), annotations: metadata["annotations"] },
      spec: { ...rest, names, versions: versions.map((version) => ({ ...version, schema: OPEN_SCHEMA })) },
    });
  }
  return byKind;
}

/**
 * What says that a server does not serve it yet: it has just heard of the definition, or has just started (403: its
 * admission is not ready).
 */
function isEarly(error: unknown): boolean {
  if (!(error instanceof KubeRefusal)) return error instanceof Error && /has no kind/.test(error.message);
  return [403, 404, 429, 500, 503].includes(error.status);
}

/** Does the work as soon as the server serves what it is about. */
export async function onceServed<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt > 300 || !isEarly(error)) throw error;
      await sleep(CLOCK, 100, NEVER);
    }
  }
}

/** Creates it, or replaces all of it: what it does not name goes. Its status too, where it has one. */
export async function put(admin: KubeAdmin, object: KubeObject): Promise<void> {
  const { status, ...rest } = object;
  try {
    await admin.create(rest as KubeObject);
  } catch (error) {
    if (!(error instanceof KubeRefusal && error.status === 409)) throw error;
    const stored = await admin.get(object);
    // What a pod is made of cannot be changed.
    const spec = object.kind === "Pod" ? { spec: stored["spec"] } : {};
    const { resourceVersion } = stored.metadata;
    await admin.replace({ ...(rest as KubeObject), ...spec, metadata: { ...object.metadata, resourceVersion } });
  }
  if (isObject(status)) await admin.patch(object, { status }, "status");
}
