import type { DatastoreWriter } from "../driver/writer.ts";
import { datastoreCodeOf, DatastoreError } from "../errors.ts";
import { CLUSTER_INFORMATION_ID, clusterInformationSpec } from "./cluster-information.ts";

/** Data of a Calico before version 3, which nobody here reads. */
export interface LegacyData {
  /** As it says itself. */
  readonly version: string;
  /** Where it says so: `ClusterInformation default`, `v1 GlobalConfig CalicoVersion`. */
  readonly where: string;
}

/**
 * Tells whether the datastore was left by a Calico before version 3: its policies are there, under kinds that v3 does
 * not know, and a v3 reader would see an empty cluster. Reads only. What may not be read counts as not there.
 *
 * @returns undefined for v3 data and for an empty datastore.
 * @throws DatastoreError DATASTORE_MALFORMED for a version that cannot be (no number; a v3 version in v1 data).
 */
export async function findLegacyData(writer: DatastoreWriter, signal: AbortSignal): Promise<LegacyData | undefined> {
  // A directory reports what it cannot read by itself, and may call its version as it likes.
  if (writer.type === "file") return undefined;
  const ifAllowed = <T>(read: Promise<T>): Promise<T | undefined> =>
    read.catch((error: unknown) => {
      const code = datastoreCodeOf(error);
      if (code !== "DATASTORE_UNAUTHORIZED" && code !== "DATASTORE_NOT_FOUND") throw error;
      return undefined;
    });
  const information = await ifAllowed(writer.get(CLUSTER_INFORMATION_ID, signal));
  const version = clusterInformationSpec(information?.resource).calicoVersion ?? "";
  if (version !== "") {
    const where = "ClusterInformation default";
    return majorOf(version, where) >= 3 ? undefined : { version, where };
  }
  const legacy = await ifAllowed(writer.legacyVersion?.(signal) ?? Promise.resolve(undefined));
  if (legacy === undefined) return undefined;
  const where = "v1 GlobalConfig CalicoVersion";
  if (majorOf(legacy, where) < 3) return { version: legacy, where };
  throw malformed(`${where} says "${legacy}", but v1 data is older than that`);
}

function majorOf(version: string, where: string): number {
  const major = /^v?(\d+)(?:\.|$)/.exec(version)?.[1];
  if (major === undefined) throw malformed(`${where} says "${version}", which is no version`);
  return Number(major);
}

function malformed(message: string): DatastoreError {
  return new DatastoreError(message, { code: "DATASTORE_MALFORMED", op: "Look for v1 data" });
}

/** What its owner is to be told. */
export function legacyDataError({ version, where }: LegacyData): DatastoreError {
  const message = `The datastore holds v1 data of Calico ${version} (${where}); nothing is read from it or changed`;
  return new DatastoreError(`${message}; see "bulrushctl migrate --from-v1"`, {
    code: "DATASTORE_LEGACY_DATA",
    op: "Open the datastore",
    data: { version, where },
  });
}
