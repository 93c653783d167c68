import type { DatastoreConfig } from "./config.ts";
import type { DatastoreWriter } from "./driver/writer.ts";
import { FileWriter } from "./file/file-writer.ts";
import type { DatastoreContext } from "./driver/context.ts";
import { KubernetesWriter } from "./kubernetes/writer/kubernetes-writer.ts";

/**
 * Opens the datastore of `config` for reading and writing single resources. It belongs to the caller, who closes it.
 * Nothing is listed or watched for it.
 *
 * @throws DatastoreError DATASTORE_BAD_CONFIG for settings that make no sense together.
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
  return KubernetesWriter.open(config, context);
}
