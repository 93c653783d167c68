import { type DatastoreWriter, type ResourceId, resourceIdOf, type StoredListRequest } from "@bulrush/datastore";
import {
  CALICO_V3,
  isObject,
  type KindFacts,
  KINDS,
  NAMESPACE_PROFILE_PREFIX,
  type Resource,
  SERVICE_ACCOUNT_PROFILE_PREFIX,
} from "@bulrush/model";
import { exportable } from "../store/exportable.ts";
import { isMissingKind } from "../store/missing-kind.ts";

/** Resources of one kind. */
export interface KindInventory {
  readonly type: KindFacts;
  readonly resources: readonly Resource[];
}

/** What others refer to first, policies last: a policy in force never names what is not there yet. */
const FIRST: readonly string[] = ["Namespace", "Tier", "ServiceAccount", "Profile", "IPPool", "Node"];

/** Made by the store or by others out of what is copied; ClusterInformation is the lock and comes last. */
const NOT_COPIED: ReadonlySet<string> = new Set(["ClusterInformation", "LiveMigration"]);

/** The one kind that Calico's groups call differently: most stores list the same under both names. */
const OTHER_NAMES: Readonly<Record<string, string>> = { IPAMConfiguration: "IPAMConfig" };

function rankOf({ kind }: KindFacts): number {
  const at = FIRST.indexOf(kind);
  return at >= 0 ? at : FIRST.length + (kind.endsWith("NetworkPolicy") ? 1 : 0);
}

const COPIED: readonly KindFacts[] = KINDS.filter(
  ({ kind }) => !NOT_COPIED.has(kind) && OTHER_NAMES[kind] === undefined,
).toSorted((a, b) => rankOf(a) - rankOf(b));

/** Every driver makes it. */
const DEFAULT_ALLOW_PROFILE = "projectcalico-default-allow";

/**
 * All that a store holds and a migration is about, kind by kind in the order of writing. `onUnreadable` hears of what is
 * left out as it cannot be read, maybe several times.
 */
export async function takeInventory(
  writer: DatastoreWriter,
  signal: AbortSignal,
  onUnreadable: (what: string) => void = () => undefined,
): Promise<readonly KindInventory[]> {
  const inventory: KindInventory[] = [];
  const known = new Set<string>();
  for (const type of COPIED) {
    const resources: Resource[] = [];
    const names = KINDS.filter(
      ({ kind, apiVersion }) => apiVersion === type.apiVersion && OTHER_NAMES[kind] === type.kind,
    );
    for (const named of [type, ...names]) {
      for await (const resource of listIfThere(writer, { ...named, onUnreadable }, signal)) {
        const own = { ...resource, kind: type.kind };
        // A store may give the same under two names of its kind.
        const id = JSON.stringify(resourceIdOf(own));
        if (!known.has(id)) resources.push(own);
        known.add(id);
      }
    }
    if (resources.length > 0) inventory.push({ type, resources });
  }
  return inventory;
}

async function* listIfThere(
  writer: DatastoreWriter,
  request: StoredListRequest,
  signal: AbortSignal,
): AsyncGenerator<Resource> {
  try {
    for await (const page of writer.list(request, signal)) for (const { resource } of page) yield resource;
  } catch (error) {
    if (!isMissingKind(error)) throw error;
  }
}

/** What the copies are called and hold in the target; undefined for what the target makes by itself. */
export function copyFor(resource: Resource, target: DatastoreWriter["type"]): Resource | undefined {
  const copy = exportable(resource);
  const { name } = copy.metadata;
  if (copy.kind === "Profile" && name === DEFAULT_ALLOW_PROFILE) return undefined;
  if (copy.kind === "IPAMHandle") return { ...copy, metadata: { ...copy.metadata, name: handleName(copy, target) } };
  if (target !== "kubernetes") return copy;
  switch (copy.kind) {
    // Kubernetes has the pods, the namespaces and the policies that these were made of.
    case "WorkloadEndpoint":
      return undefined;
    case "Profile":
      return [NAMESPACE_PROFILE_PREFIX, SERVICE_ACCOUNT_PROFILE_PREFIX].some((prefix) => name.startsWith(prefix))
        ? undefined
        : copy;
    case "NetworkPolicy":
    case "StagedNetworkPolicy":
      return copy.apiVersion === CALICO_V3 && name.startsWith("knp.default.") ? undefined : copy;
    case "Node":
      return { ...copy, metadata: { ...copy.metadata, name: kubernetesNodeName(copy) } };
    default:
      return copy;
  }
}

/** etcd has a handle under its very id, Kubernetes in lower case; the spec has the id in either. */
function handleName({ metadata: { name }, spec }: Resource, target: DatastoreWriter["type"]): string {
  if (target === "kubernetes") return name.toLowerCase();
  const id = isObject(spec) ? spec["handleID"] : undefined;
  return target === "etcdv3" && typeof id === "string" && id.toLowerCase() === name.toLowerCase() ? id : name;
}

/** Calico may know a node under another name than Kubernetes does. */
function kubernetesNodeName({ metadata, spec }: Resource): string {
  const references = isObject(spec) && Array.isArray(spec["orchRefs"]) ? (spec["orchRefs"] as unknown[]) : [];
  for (const reference of references) {
    if (isObject(reference) && reference["orchestrator"] === "k8s" && typeof reference["nodeName"] === "string")
      return reference["nodeName"];
  }
  return metadata.name;
}

/** Why a store cannot take resources of a kind; undefined if it can. */
export async function cannotHold(
  target: DatastoreWriter,
  { type, resources }: KindInventory,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (target.type === "kubernetes" && type.apiVersion !== CALICO_V3 && !type.kind.endsWith("NetworkPolicy"))
    return "made by Kubernetes itself";
  const [first] = resources;
  if (first === undefined) return undefined;
  const id: ResourceId = resourceIdOf(first);
  try {
    await target.get(id, signal);
    return undefined;
  } catch (error) {
    if (!isMissingKind(error)) throw error;
    return `the ${target.type} datastore does not store this kind`;
  }
}

/** The namespaces of copies that Kubernetes does not have: what is in them could not be written. */
export async function missingNamespaces(
  target: DatastoreWriter,
  copies: readonly KindInventory[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (target.type !== "kubernetes") return [];
  const wanted = new Set(
    copies.flatMap(({ type, resources }) =>
      type.namespaced ? resources.map((resource) => resourceIdOf(resource).namespace) : [],
    ),
  );
  const missing: string[] = [];
  for (const name of wanted) {
    const id: ResourceId = { apiVersion: "v1", kind: "Namespace", namespace: "", name };
    if ((await target.get(id, signal)) === undefined) missing.push(name);
  }
  return missing;
}
