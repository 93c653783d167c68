import { join } from "node:path";
import { convertResources } from "@bulrush/datastore";
import { CALICO_V3, isObject, type Resource } from "@bulrush/model";
import { KubeRefusal, type KubeAdmin, type KubeObject } from "../kube/kube-admin.ts";
import { KubeServer, type KubeOptions } from "../kube/kube-server.ts";
import { withBuiltIn } from "./built-in.ts";
import type { LabStore, Stored } from "./store.ts";

const CRDS = join(import.meta.dirname, "..", "..", "..", "deploy", "crds");

/** What the felix syncer reads of a cluster. */
const READ: readonly (readonly [apiVersion: string, kind: string])[] = [
  ["v1", "Namespace"],
  ["v1", "ServiceAccount"],
  ["v1", "Node"],
  ["v1", "Pod"],
  ["v1", "Service"],
  ["discovery.k8s.io/v1", "EndpointSlice"],
  ["networking.k8s.io/v1", "NetworkPolicy"],
  ["policy.networking.k8s.io/v1alpha2", "ClusterNetworkPolicy"],
  [CALICO_V3, "BGPConfiguration"],
  [CALICO_V3, "BGPPeer"],
  [CALICO_V3, "ClusterInformation"],
  [CALICO_V3, "FelixConfiguration"],
  [CALICO_V3, "GlobalNetworkPolicy"],
  [CALICO_V3, "GlobalNetworkSet"],
  [CALICO_V3, "HostEndpoint"],
  [CALICO_V3, "IPAMBlock"],
  [CALICO_V3, "IPPool"],
  [CALICO_V3, "NetworkPolicy"],
  [CALICO_V3, "NetworkSet"],
  [CALICO_V3, "StagedGlobalNetworkPolicy"],
  [CALICO_V3, "StagedKubernetesNetworkPolicy"],
  [CALICO_V3, "StagedNetworkPolicy"],
  [CALICO_V3, "Tier"],
];

/** HTTP 422: what the object may not change to without being made anew. */
const INVALID = 422;

/**
 * A real kube-apiserver as the store. Nobody else works on it: no scheduler, no kubelet, no controllers; what those
 * write (a pod's node and addresses) is in the resources already.
 *
 * Invariant: `#held` is what was written and not taken away since, as JSON by identity.
 */
export class KubernetesStore implements LabStore {
  readonly server: KubeServer;
  readonly typhaEnv: Readonly<Record<string, string>>;
  readonly #held = new Map<string, { readonly object: KubeObject; readonly text: string }>();

  private constructor(server: KubeServer) {
    this.server = server;
    this.typhaEnv = {
      DATASTORE_TYPE: "kubernetes",
      KUBECONFIG: server.kubeconfig,
      CALICO_API_GROUP: CALICO_V3,
    };
  }

  /**
   * Starts one, with all of Calico's resource definitions.
   *
   * @throws Error that says how to get the binaries.
   */
  static async start(options: KubeOptions = {}): Promise<KubernetesStore> {
    const server = await KubeServer.start(options);
    try {
      await server.admin.installCrds(join(CRDS, "projectcalico.org"));
      await server.admin.installCrds(join(CRDS, "policy.networking.k8s.io"));
    } catch (error) {
      await server.stop();
      throw error;
    }
    return new KubernetesStore(server);
  }

  async sync(resources: readonly Resource[]): Promise<Stored> {
    const { admin } = this.server;
    const refused: string[] = [];
    const wanted = new Map<string, KubeObject>();
    for (const object of withNamespaces(withBuiltIn(resources)).map(asWritten)) wanted.set(identityOf(object), object);
    for (const [id, { object }] of [...this.#held].reverse()) {
      if (wanted.has(id)) continue;
      await removeObject(admin, object);
      this.#held.delete(id);
    }
    for (const [id, object] of wanted) {
      const text = JSON.stringify(object);
      if (this.#held.get(id)?.text === text) continue;
      try {
        await putObject(admin, object);
        this.#held.set(id, { object, text });
      } catch (error) {
        if (!(error instanceof KubeRefusal)) throw error;
        refused.push(error.message);
      }
    }
    const { updates, problems } = convertResources(await this.list());
    return { updates, problems: [...refused, ...problems.map(({ message }) => message)] };
  }

  /** A fresh list of what the felix syncer reads, by other means than the driver's. */
  list(): Promise<Resource[]> {
    return listResources(this.server.admin);
  }

  stop(): Promise<void> {
    return this.server.stop();
  }
}

/** All that the felix syncer reads of a cluster with every kind of Calico's in the group `projectcalico.org/v3`. */
async function listResources(admin: KubeAdmin): Promise<Resource[]> {
  const lists = await Promise.all(
    READ.map(async ([apiVersion, kind]) => {
      const items = await admin.list(apiVersion, kind);
      return items.map((item) => ({ ...item, apiVersion, kind }) as unknown as Resource);
    }),
  );
  return lists.flat();
}

/**
 * Where all fields of an object go, a server-side apply leaves null in its place, which the server then finds invalid: a
 * change of `subject.namespaces` into `subject.pods` is one.
 */
const LEFT_NULL = /Invalid value: "?null"?/;

/** Creates it or makes it so; a pod whose change the server does not take is made anew, and what an apply cannot change. */
export async function putObject(admin: KubeAdmin, object: KubeObject): Promise<void> {
  const { status, ...rest } = object;
  try {
    await admin.apply(rest as KubeObject);
  } catch (error) {
    if (!(error instanceof KubeRefusal && error.status === INVALID)) throw error;
    if (object.kind !== "Pod" && !LEFT_NULL.test(error.message)) throw error;
    await admin.delete(object);
    await admin.apply(rest as KubeObject);
  }
  const hasStatus = object.apiVersion === "v1" && (object.kind === "Pod" || object.kind === "Node");
  if (hasStatus && status !== undefined) await admin.patch(object, { status }, "status");
}

/** Takes it away at once; a namespace as well, which otherwise waits for a controller. */
export async function removeObject(admin: KubeAdmin, object: KubeObject): Promise<void> {
  const isThere = await admin.delete(object);
  if (!isThere || object.kind !== "Namespace") return;
  const path = `/api/v1/namespaces/${object.metadata.name ?? ""}/finalize`;
  const { apiVersion, kind, metadata } = object;
  const answer = await admin.request("PUT", path, { apiVersion, kind, metadata, spec: { finalizers: [] } });
  if (answer.status >= 300 && answer.status !== 404) throw new KubeRefusal(`PUT ${path}`, answer);
}

function identityOf({ apiVersion, kind, metadata }: KubeObject): string {
  return `${apiVersion} ${kind} ${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}

/** Namespaces first; one that nobody declares is made, as the server takes nothing into a namespace that is not there. */
function withNamespaces(resources: readonly Resource[]): Resource[] {
  const isNamespace = ({ apiVersion, kind }: Resource): boolean => apiVersion === "v1" && kind === "Namespace";
  const declared = resources.filter(isNamespace);
  const names = new Set(declared.map(({ metadata }) => metadata.name));
  const used = new Set(resources.flatMap(({ metadata }) => metadata.namespace ?? []));
  const made = [...used]
    .filter((name) => name !== "" && !names.has(name))
    .map((name): Resource => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  return [...declared, ...made, ...resources.filter((resource) => !isNamespace(resource))];
}

/** The object as somebody sends it: nothing that only the server says, and what it insists on. */
export function asWritten(resource: Resource): KubeObject {
  const { uid: _, resourceVersion: __, creationTimestamp: ___, ...metadata } = resource.metadata;
  const object = { ...resource, metadata: { ...metadata } } as unknown as KubeObject;
  if (object.apiVersion !== "v1" || object.kind !== "Pod") return object;
  return {
    ...object,
    spec: podSpec(object["spec"]),
    ...(isObject(resource.status) && { status: podStatus(resource.status) }),
  };
}

function podSpec(spec: unknown): unknown {
  const given = isObject(spec) ? spec : {};
  const { containers } = given;
  const list = Array.isArray(containers) && containers.length > 0 ? containers : [{ name: "main" }];
  return {
    ...given,
    containers: list.map((one: unknown) => ({ image: "registry.invalid/none", ...(isObject(one) ? one : {}) })),
  };
}

/** The first of `podIPs` is `podIP`. */
function podStatus(status: Readonly<Record<string, unknown>>): unknown {
  const { podIPs, podIP } = status;
  const first: unknown = Array.isArray(podIPs) ? podIPs[0] : undefined;
  if (podIP === undefined && isObject(first)) return { ...status, podIP: first["ip"] };
  if (podIPs === undefined && typeof podIP === "string" && podIP !== "") return { ...status, podIPs: [{ ip: podIP }] };
  return status;
}
