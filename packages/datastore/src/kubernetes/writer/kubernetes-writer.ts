import {
  CALICO_V3,
  isObject,
  type JsonObject,
  type KubernetesNodeResource,
  type NodeResource,
  type Resource,
} from "@bulrush/model";
import { resourceIdOf } from "../../driver/apply.ts";
import type { DatastoreContext } from "../../driver/context.ts";
import { hasNameOfUser } from "../../driver/name-of-user.ts";
import { withWriteDefaults } from "../../driver/write-defaults.ts";
import type {
  DatastoreWriter,
  ResourceId,
  ResourceType,
  StoredListRequest,
  StoredResource,
} from "../../driver/writer.ts";
import { datastoreCodeOf, DatastoreError } from "../../errors.ts";
import { Discovery } from "../client/discovery.ts";
import type { KubeClient } from "../client/kube-client.ts";
import { openKubeClient } from "../client/open-client.ts";
import { readCrd, writeCrd } from "../crd-codec.ts";
import { pathOf } from "../driver/source.ts";
import { listSource } from "../driver/list-source.ts";
import type { KubernetesDatastoreConfig } from "../kubernetes-config.ts";
import { convertKubernetesNode } from "../node.ts";
import { nodeAnnotations } from "../node-annotations.ts";
import { isCalicoNode, notSupported, type WriteTarget, writeTargetOf } from "./write-target.ts";

const MERGE_PATCH = "application/merge-patch+json";
const GLOBAL_CONFIGS = { apiVersion: "crd.projectcalico.org/v1", plural: "globalconfigs" } as const;

/** A stored object and the name under which it is stored. */
interface Found {
  readonly object: JsonObject;
  readonly name: string;
}

/**
 * Writes single objects of an API server. Calico's kinds are written as CRDs of the group that the server has, the v3
 * Node as annotations of the Kubernetes one, Kubernetes' own kinds as they are. Where a kind has a status subresource
 * and the resource has a status, that is a second request: the only write that can end half done.
 */
export class KubernetesWriter implements DatastoreWriter {
  readonly type = "kubernetes";
  readonly #client: KubeClient;
  readonly #discovery: Discovery;
  readonly #usePodCIDR: boolean;
  readonly #closed = new AbortController();

  constructor(client: KubeClient, config: KubernetesDatastoreConfig) {
    this.#client = client;
    this.#discovery = new Discovery(client, this.#closed.signal, config.apiGroup);
    this.#usePodCIDR = config.usePodCIDR ?? false;
  }

  /** @throws DatastoreError DATASTORE_BAD_CONFIG. The server is asked for nothing yet. */
  static async open(config: KubernetesDatastoreConfig, { clock }: DatastoreContext): Promise<KubernetesWriter> {
    return new KubernetesWriter(await openKubeClient(config, clock), config);
  }

  async get(id: ResourceId, signal: AbortSignal): Promise<StoredResource | undefined> {
    const target = await this.#targetOf(id, signal);
    const found = await this.#find(target, id, signal);
    return found === undefined ? undefined : this.#stored(id, found.object);
  }

  async *list(request: StoredListRequest, signal: AbortSignal): AsyncGenerator<readonly StoredResource[], void, void> {
    const target = await this.#targetOf(request, signal);
    const { namespace = "" } = request;
    const selection = { source: target, ...(namespace !== "" && target.namespaced && { namespace }) };
    for await (const { objects } of listSource(this.#client, { selection, revision: "", signal, isPaged: true })) {
      const page: StoredResource[] = [];
      for (const object of objects) {
        const stored = this.#stored(request, object);
        if (stored !== undefined) page.push(stored);
        else request.onUnreadable?.(`${request.kind}: the server lists an object without a name or a version`);
      }
      yield page;
    }
  }

  async create(resource: Resource, signal: AbortSignal): Promise<StoredResource> {
    const id = resourceIdOf(resource);
    if (isCalicoNode(id)) throw notSupported(id, "created");
    const target = await this.#targetOf(id, signal);
    // Under its other name it would be there twice.
    if (target.isCrd && hasNameOfUser(id.kind) && (await this.#find(target, id, signal)) !== undefined)
      throw alreadyThere(id);
    const { resourceVersion: _, uid: __, ...metadata } = resource.metadata;
    const body = bodyOf(target, { ...resource, metadata });
    const path = pathOf(target, namespaceOf(target, id));
    const made = await this.#client.json({ op: opOf("Create", id), method: "POST", path, body, signal });
    return this.#withStatus(id, target, id.name, resource, made, signal);
  }

  async update(resource: Resource, revision: string, signal: AbortSignal): Promise<StoredResource> {
    const id = resourceIdOf(resource);
    const target = await this.#targetOf(id, signal);
    const found = await this.#find(target, id, signal);
    if (found === undefined) throw notThere(id);
    const path = pathOf(target, namespaceOf(target, id), found.name);
    const op = opOf("Update", id);
    if (isCalicoNode(id)) {
      const labels = metadataOf(found.object)["labels"];
      const annotations = nodeAnnotations(
        resource as NodeResource,
        isObject(labels) ? (labels as Record<string, string>) : {},
      );
      const body = { metadata: { resourceVersion: revision, annotations } };
      // With the rights of whoever reports the state of a node.
      const written = await this.#client.json({
        op,
        method: "PATCH",
        path: `${path}/status`,
        body,
        contentType: MERGE_PATCH,
        signal,
      });
      return this.#mustStored(id, written);
    }
    const known = this.#stored(id, found.object)?.resource.metadata ?? { name: id.name };
    const { uid: _, creationTimestamp: __, ...own } = resource.metadata;
    const { uid = known.uid } = resource.metadata;
    if (uid !== known.uid) throw notTheSame(id);
    const metadata = {
      ...own,
      resourceVersion: revision,
      ...(uid !== undefined && { uid }),
      ...(known.creationTimestamp !== undefined && { creationTimestamp: known.creationTimestamp }),
    };
    const body = bodyOf(target, { ...resource, metadata }, found.name);
    const written = await this.#client.json({ op, method: "PUT", path, body, signal });
    return this.#withStatus(id, target, found.name, resource, written, signal);
  }

  async delete(id: ResourceId, revision: string | undefined, signal: AbortSignal): Promise<void> {
    if (isCalicoNode(id)) throw notSupported(id, "deleted");
    const target = await this.#targetOf(id, signal);
    const found = await this.#find(target, id, signal);
    if (found === undefined) throw notThere(id);
    const path = pathOf(target, namespaceOf(target, id), found.name);
    const { uid } = metadataOf(found.object);
    const body = {
      kind: "DeleteOptions",
      apiVersion: "v1",
      preconditions: { uid, ...(revision !== undefined && { resourceVersion: revision }) },
    };
    await this.#client.json({ op: opOf("Delete", id), method: "DELETE", path, body, signal });
  }

  /** Calico before version 3 kept its settings in CRDs named GlobalConfig. */
  async legacyVersion(signal: AbortSignal): Promise<string | undefined> {
    let list: unknown;
    try {
      list = await this.#client.json({ op: "List globalconfigs", path: pathOf(GLOBAL_CONFIGS), signal });
    } catch (error) {
      if (datastoreCodeOf(error) === "DATASTORE_NOT_FOUND") return undefined;
      throw error;
    }
    const items: unknown = isObject(list) ? list["items"] : undefined;
    for (const item of Array.isArray(items) ? (items as unknown[]) : []) {
      const spec = isObject(item) && isObject(item["spec"]) ? item["spec"] : {};
      if (spec["name"] === "CalicoVersion" && typeof spec["value"] === "string") return spec["value"];
    }
    return undefined;
  }

  close(): Promise<void> {
    this.#closed.abort(new Error("Closed"));
    this.#client.close();
    return Promise.resolve();
  }

  async #targetOf(type: ResourceType, signal: AbortSignal): Promise<WriteTarget> {
    const isCalico = type.apiVersion === CALICO_V3;
    return writeTargetOf(type, isCalico ? await this.#discovery.calicoGroup(signal) : "crd.projectcalico.org/v1");
  }

  /** A policy of the default tier may be stored under its name with a prefix. */
  async #find(target: WriteTarget, id: ResourceId, signal: AbortSignal): Promise<Found | undefined> {
    const names = target.isCrd && hasNameOfUser(id.kind) ? [id.name, `default.${id.name}`] : [id.name];
    for (const name of names) {
      const object = await this.#read(target, id, name, signal);
      if (object === undefined) continue;
      // It may be the prefixed name of another one.
      if (this.#stored(id, object)?.resource.metadata.name === id.name) return { object, name };
    }
    return undefined;
  }

  async #read(target: WriteTarget, id: ResourceId, name: string, signal: AbortSignal): Promise<JsonObject | undefined> {
    const path = pathOf(target, namespaceOf(target, id), name);
    try {
      const object = await this.#client.json({ op: opOf("Get", id), path, signal });
      return isObject(object) ? object : undefined;
    } catch (error) {
      if (datastoreCodeOf(error) !== "DATASTORE_NOT_FOUND") throw error;
      const isServed = await this.#discovery.serves(target.apiVersion, target.plural, signal);
      if (isServed !== false) return undefined;
      this.#discovery.forgetGroup();
      const message = `The server has no ${target.plural} of ${target.apiVersion}`;
      throw new DatastoreError(message, { code: "DATASTORE_NOT_FOUND", cause: error });
    }
  }

  /** The status goes its own way: what is written beside it leaves it as it was. */
  async #withStatus(
    id: ResourceId,
    target: WriteTarget,
    name: string,
    resource: Resource,
    written: unknown,
    signal: AbortSignal,
  ): Promise<StoredResource> {
    if (!target.hasStatus || resource.status === undefined) return this.#mustStored(id, written);
    const path = `${pathOf(target, namespaceOf(target, id), name)}/status`;
    const body = { ...(isObject(written) ? written : {}), status: resource.status };
    const op = opOf("Update the status of", id);
    return this.#mustStored(id, await this.#client.json({ op, method: "PUT", path, body, signal }));
  }

  #mustStored(id: ResourceId, object: unknown): StoredResource {
    const stored = this.#stored(id, object);
    if (stored !== undefined) return stored;
    throw new DatastoreError(`${nameOf(id)}: the server's answer is no object`, { code: "DATASTORE_MALFORMED" });
  }

  #stored({ apiVersion, kind }: ResourceType, object: unknown): StoredResource | undefined {
    if (!isObject(object)) return undefined;
    const { managedFields: _, ...metadata } = metadataOf(object);
    const { name, resourceVersion: revision } = metadata;
    if (typeof name !== "string" || typeof revision !== "string") return undefined;
    if (isCalicoNode({ apiVersion, kind })) {
      const node = { ...object, apiVersion: "v1", kind, metadata } as unknown as KubernetesNodeResource;
      return { resource: convertKubernetesNode(node, { usePodCIDR: this.#usePodCIDR }).resource, revision };
    }
    const isCrd = object["apiVersion"] === "crd.projectcalico.org/v1";
    const stored = { ...object, apiVersion: object["apiVersion"] ?? apiVersion, metadata } as unknown as Resource;
    const resource = isCrd ? readCrd(stored) : stored;
    return { resource: { ...resource, apiVersion, kind }, revision };
  }
}

/** The object to send. `name`: the one in the store, where that is another. */
function bodyOf(target: WriteTarget, resource: Resource, name?: string): Resource {
  const { status: _, ...filled } = withWriteDefaults(resource);
  const whole: Resource = target.hasStatus ? filled : withWriteDefaults(resource);
  if (!target.isCrd) return { ...whole, apiVersion: target.apiVersion, kind: target.kind };
  const stored = writeCrd({ ...whole, kind: target.kind });
  return name === undefined ? stored : { ...stored, metadata: { ...stored.metadata, name } };
}

function metadataOf(object: JsonObject): JsonObject {
  return isObject(object["metadata"]) ? object["metadata"] : {};
}

function namespaceOf({ namespaced }: WriteTarget, { namespace }: ResourceId): string {
  return namespaced ? namespace : "";
}

function nameOf({ kind, namespace, name }: ResourceId): string {
  return `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}

function opOf(verb: string, id: ResourceId): string {
  return `${verb} ${nameOf(id)}`;
}

function notThere(id: ResourceId): DatastoreError {
  return new DatastoreError(`${nameOf(id)} is not there`, { code: "DATASTORE_NOT_FOUND" });
}

function notTheSame(id: ResourceId): DatastoreError {
  return new DatastoreError(`${nameOf(id)} is another one by now: its uid differs`, { code: "DATASTORE_CONFLICT" });
}

function alreadyThere(id: ResourceId): DatastoreError {
  return new DatastoreError(`${nameOf(id)} is there already`, { code: "DATASTORE_ALREADY_EXISTS" });
}
