import { randomBytes } from "node:crypto";
import { systemClock } from "@bulrush/base";
import {
  applyResource,
  CLUSTER_INFORMATION_ID,
  convertResources,
  type DatastoreWriter,
  ensureInitialized,
  openDatastoreWriter,
  type ResourceId,
  resourceIdOf,
  toItem,
} from "@bulrush/datastore";
import { CALICO_V3, type Resource } from "@bulrush/model";
import { EtcdServer } from "../kube/etcd-server.ts";
import { withBuiltIn } from "./built-in.ts";
import type { LabStore, Stored } from "./store.ts";

const TIMEOUT_MS = 60_000;

/** How a controller names its copy of a Kubernetes NetworkPolicy. */
const COPIED_POLICY = "knp.default.";

/**
 * A real etcd as the store. What a controller would copy from Kubernetes into it is copied here:
 *
 *     Kubernetes NetworkPolicy   -> NetworkPolicy knp.default.NAME
 *     Namespace, ServiceAccount  -> Profile
 *     Pod                        -> WorkloadEndpoint
 *     Node                       -> Node
 *
 * Services, their slices and ClusterNetworkPolicies have no copy: nobody makes one.
 *
 * Invariant: `#held` is what was written and not taken away since, by identity.
 */
export class EtcdStore implements LabStore {
  readonly server: EtcdServer;
  readonly typhaEnv: Readonly<Record<string, string>>;
  readonly #writer: DatastoreWriter;
  readonly #held = new Map<string, ResourceId>();

  private constructor(server: EtcdServer, writer: DatastoreWriter) {
    this.server = server;
    this.#writer = writer;
    this.typhaEnv = { DATASTORE_TYPE: "etcdv3", ETCD_ENDPOINTS: server.endpoint };
  }

  /** @throws Error that says how to get the binaries. */
  static async start(): Promise<EtcdStore> {
    const server = await EtcdServer.start();
    const clock = systemClock({ keepAlive: true });
    const config = { type: "etcdv3", endpoints: [server.endpoint] } as const;
    const writer = await openDatastoreWriter(config, { clock });
    // As Typha would, so that it finds nothing to add.
    const newGuid = (): string => randomBytes(16).toString("hex");
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    await ensureInitialized(writer, { version: "", clusterType: "typha", clock, signal, newGuid });
    return new EtcdStore(server, writer);
  }

  async sync(resources: readonly Resource[]): Promise<Stored> {
    const aside: string[] = [];
    const wanted = new Map<string, Resource>();
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const information = await this.#writer.get(CLUSTER_INFORMATION_ID, signal);
    const present = information === undefined ? [] : [information.resource];
    for (const resource of withBuiltIn([...resources, ...present])) {
      const copy = etcdCopyOf(resource, aside);
      if (copy === undefined) continue;
      const id = identityOf(resourceIdOf(copy));
      if (!wanted.has(id)) wanted.set(id, copy);
    }
    for (const [identity, id] of this.#held) {
      if (wanted.has(identity)) continue;
      await this.#writer.delete(id, undefined, signal);
      this.#held.delete(identity);
    }
    for (const [identity, resource] of wanted) {
      await applyResource(this.#writer, resource, signal);
      this.#held.set(identity, resourceIdOf(resource));
    }
    const { updates, problems } = convertResources([...wanted.values()]);
    return { updates, problems: [...aside, ...problems.map(({ message }) => message)] };
  }

  async stop(): Promise<void> {
    await this.#writer.close();
    await this.server.stop();
  }
}

function identityOf({ apiVersion, kind, namespace, name }: ResourceId): string {
  return `${apiVersion} ${kind} ${namespace}/${name}`;
}

/**
 * What stands in etcd for a resource: itself if it is Calico's. Undefined for what has no copy there, and for a pod that
 * is on no host. What could not be read of it goes into `aside`.
 */
export function etcdCopyOf(resource: Resource, aside: string[]): Resource | undefined {
  if (resource.apiVersion === CALICO_V3) return resource;
  const item = toItem(resource, { usePodCIDR: false });
  if (item === undefined) return undefined;
  const { name, namespace } = item.subject;
  for (const issue of item.issues) aside.push(`${resource.kind} ${namespace}/${name}: ${issue.message}`);
  if (item.kind === "KubernetesNetworkPolicy" && item.value !== undefined) {
    const { metadata } = item.value;
    const labels = metadata.labels ?? {};
    return {
      ...item.value,
      kind: "NetworkPolicy",
      metadata: { name: COPIED_POLICY + name, namespace, ...(Object.keys(labels).length > 0 && { labels }) },
    };
  }
  if (item.kind === "Profile" || item.kind === "WorkloadEndpoint" || item.kind === "Node") return item.value;
  aside.push(`${resource.kind} ${namespace}/${name} is left aside: etcd has no such kind`);
  return undefined;
}
