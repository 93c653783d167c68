import type { DatastoreConfig } from "./config.ts";
import type { DatastoreWriter } from "./driver/writer.ts";
import { DatastoreError } from "./errors.ts";
import { FileWriter } from "./file/file-writer.ts";
import type { DatastoreContext } from "./driver/context.ts";

/**
 * Opens the datastore of `config` for reading and writing single resources. It belongs to the caller, who closes it.
 * Nothing is listed or watched for it.
 *
 * @throws DatastoreError DATASTORE_NOT_SUPPORTED for a driver that is not there yet.
 */
export async function openDatastoreWriter(
  config: DatastoreConfig,
  context: DatastoreContext,
): Promise<DatastoreWriter> {
  if (config.type === "file") return new FileWriter(config, context);
  if (config.type === "etcdv3") {
    // Only who uses it pays for the library.
    const { EtcdWriter } = await import("./etcd/etcd-writer.ts");
    return new EtcdWriter(config, context);
  }
  throw new DatastoreError(`The ${config.type} datastore cannot be written yet`, { code: "DATASTORE_NOT_SUPPORTED" });
}
