import {
  type DatastoreWriter,
  CLUSTER_INFORMATION_ID,
  clusterInformationSpec,
  datastoreCodeOf,
} from "@bulrush/datastore";
import { type ClusterInformationSpec, isObject, type Resource } from "@bulrush/model";

/** Where a ClusterInformation says that a migration is under way. */
const ANNOTATION = "bulrush.io/migration";

/** What a store says about a migration. */
export interface Marker {
  /** The same in both stores: who goes on must go on with the same pair. */
  readonly id: string;
  readonly role: "source" | "target";
  /** Of the other one, in words. */
  readonly peer: string;
  /** ISO 8601. */
  readonly startedAt: string;
}

export interface LockState {
  readonly marker: Marker | undefined;
  readonly spec: ClusterInformationSpec;
}

export async function readLock(writer: DatastoreWriter, signal: AbortSignal): Promise<LockState> {
  const stored = await writer.get(CLUSTER_INFORMATION_ID, signal);
  return { marker: markerOf(stored?.resource), spec: clusterInformationSpec(stored?.resource) };
}

/**
 * Writes spec fields and the marker (undefined takes it away) into the ClusterInformation, creating it where it is
 * missing. Again after a lost race: whoever holds the lock has the last word.
 */
export async function writeLock(
  writer: DatastoreWriter,
  fields: ClusterInformationSpec,
  marker: Marker | undefined,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const stored = await writer.get(CLUSTER_INFORMATION_ID, signal);
    const { apiVersion, kind, name } = CLUSTER_INFORMATION_ID;
    const { annotations: before, ...metadata } = stored?.resource.metadata ?? {};
    const { [ANNOTATION]: _, ...others } = before ?? {};
    const annotations = marker === undefined ? others : { ...others, [ANNOTATION]: JSON.stringify(marker) };
    const next: Resource = {
      apiVersion,
      kind,
      metadata: { ...metadata, name, ...(Object.keys(annotations).length > 0 && { annotations }) },
      spec: { ...clusterInformationSpec(stored?.resource), ...fields },
    };
    try {
      if (stored === undefined) await writer.create(next, signal);
      else await writer.update(next, stored.revision, signal);
      return;
    } catch (error) {
      const code = datastoreCodeOf(error);
      const isRace = code === "DATASTORE_CONFLICT" || code === "DATASTORE_ALREADY_EXISTS";
      if (!isRace || attempt >= 10) throw error;
    }
  }
}

function markerOf(resource: Resource | undefined): Marker | undefined {
  const text = resource?.metadata.annotations?.[ANNOTATION];
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value) || typeof value["id"] !== "string") return undefined;
    return value as unknown as Marker;
  } catch {
    return undefined;
  }
}
