import { CALICO_V3, KINDS, type Resource } from "@bulrush/model";
import { type ConversionOptions, type ConvertedItem, toItem } from "../../manifest/to-item.ts";
import type { Shape } from "../../json/shape.ts";
import type { DatastoreKind } from "../../driver/kind.ts";
import type { CalicoGroupVersion } from "../kubernetes-config.ts";
import { convertMigration } from "../live-migration.ts";
import { parseProfileName } from "../profile.ts";
import { parseWorkloadName } from "../workload-name.ts";
import { neededFields } from "./needed-fields.ts";

/** One list of the API server that a kind is made from. */
export interface Source {
  /** Group and version, as in the objects. */
  readonly apiVersion: string;
  readonly kind: string;
  /** Lower case, as in the path. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** One of Calico's CRDs: it may be installed later. */
  readonly isCalico: boolean;
  /** What `convert` reads of an object; it is not shown the rest. */
  readonly needs: Shape;
  /** Undefined for an object that has no place in the list. Never throws. */
  readonly convert: (resource: Resource, options: ConversionOptions) => ConvertedItem | undefined;
}

/** A list, or one object of it. */
export interface ListPlace {
  readonly source: Pick<Source, "apiVersion" | "plural">;
  /** Only this namespace. */
  readonly namespace?: string;
  /** Only the object of this name. */
  readonly name?: string;
}

/** A source, or one object of it. */
export interface Selection extends ListPlace {
  readonly source: Source;
}

type Native = readonly [apiVersion: string, kind: string];

const NATIVE: Readonly<Partial<Record<DatastoreKind, readonly Native[]>>> = {
  WorkloadEndpoint: [["v1", "Pod"]],
  Node: [["v1", "Node"]],
  Profile: [
    ["v1", "Namespace"],
    ["v1", "ServiceAccount"],
  ],
  KubernetesNetworkPolicy: [["networking.k8s.io/v1", "NetworkPolicy"]],
  KubernetesEndpointSlice: [["discovery.k8s.io/v1", "EndpointSlice"]],
  KubernetesService: [["v1", "Service"]],
  KubernetesClusterNetworkPolicy: [["policy.networking.k8s.io/v1alpha2", "ClusterNetworkPolicy"]],
};

const LIVE_MIGRATION: Source = {
  apiVersion: "kubevirt.io/v1",
  kind: "VirtualMachineInstanceMigration",
  plural: "virtualmachineinstancemigrations",
  namespaced: true,
  isCalico: false,
  needs: neededFields({ apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstanceMigration" }),
  convert: (resource) => ({
    kind: "LiveMigration",
    namespace: resource.metadata.namespace ?? "",
    name: resource.metadata.name,
    value: convertMigration(resource),
    issues: [],
    subject: {
      kind: resource.kind,
      namespace: resource.metadata.namespace ?? "",
      name: resource.metadata.name,
    },
  }),
};

function nativeSource([apiVersion, kind]: Native): Source {
  const facts = KINDS.find((entry) => entry.apiVersion === apiVersion && entry.kind === kind);
  const { plural = "", namespaced = false } = facts ?? {};
  const needs = neededFields({ apiVersion, kind });
  return { apiVersion, kind, plural, namespaced, isCalico: false, needs, convert: toItem };
}

/** The one kind that the two groups name differently. */
function calicoKind(kind: DatastoreKind, group: CalicoGroupVersion): string {
  return kind === "IPAMConfig" && group === CALICO_V3 ? "IPAMConfiguration" : kind;
}

function calicoSource(kind: DatastoreKind, group: CalicoGroupVersion): Source {
  const stored = calicoKind(kind, group);
  const facts = KINDS.find((entry) => entry.apiVersion === CALICO_V3 && entry.kind === stored);
  const { plural = "", namespaced = false } = facts ?? {};
  const needs = neededFields({ apiVersion: group, kind: stored });
  return { apiVersion: group, kind: stored, plural, namespaced, isCalico: true, needs, convert: toItem };
}

/** True for a kind that is kept in Calico's CRDs, so that its group must be known. */
export function isCalicoKind(kind: DatastoreKind): boolean {
  return NATIVE[kind] === undefined && kind !== "LiveMigration";
}

/** What a kind is made from. `group` counts for Calico's own. */
export function sourcesOf(kind: DatastoreKind, group: CalicoGroupVersion): readonly Source[] {
  if (kind === "LiveMigration") return [LIVE_MIGRATION];
  const native = NATIVE[kind];
  return native === undefined ? [calicoSource(kind, group)] : native.map(nativeSource);
}

/** The selections for all of a kind, or for one item of it. Empty for a name that no object has. */
export function selectionsOf(
  kind: DatastoreKind,
  sources: readonly Source[],
  { name, namespace }: { readonly name?: string | undefined; readonly namespace?: string | undefined },
): readonly Selection[] {
  if (kind === "Profile") return name === undefined ? sources.map((source) => ({ source })) : profile(sources, name);
  return sources.flatMap((source): readonly Selection[] => {
    const of = source.namespaced && namespace !== undefined && namespace !== "" ? { source, namespace } : { source };
    if (name === undefined) return [of];
    if (kind !== "WorkloadEndpoint") return [{ ...of, name }];
    const endpoint = parseWorkloadName(name);
    return endpoint === undefined ? [] : [{ ...of, name: endpoint.workload }];
  });
}

function profile(sources: readonly Source[], name: string): readonly Selection[] {
  const parsed = parseProfileName(name);
  if (parsed === undefined) return [];
  const { namespace, serviceAccount } = parsed;
  return sources
    .filter(({ kind }) => (kind === "ServiceAccount") === (serviceAccount !== undefined))
    .map((source) =>
      serviceAccount === undefined ? { source, name: namespace } : { source, namespace, name: serviceAccount },
    );
}

/** `/apis/<group>/<version>/namespaces/<ns>/<plural>/<name>`, as far as it is given. */
export function pathOf(
  { apiVersion, plural }: Pick<Source, "apiVersion" | "plural">,
  namespace = "",
  name = "",
): string {
  const root = apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
  const inNamespace = namespace === "" ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${inNamespace}/${plural}${name === "" ? "" : `/${encodeURIComponent(name)}`}`;
}
