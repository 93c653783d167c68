import type { DatastoreConfig } from "./config.ts";
import type { DatastoreContext } from "./driver/context.ts";
import type { DatastoreDriver } from "./driver/driver.ts";
import { FileDriver } from "./file/file-driver.ts";
import { KubernetesDriver } from "./kubernetes/driver/kubernetes-driver.ts";

/**
 * Opens the datastore of `config`. It belongs to the caller, who closes it after the syncers on it have stopped.
 *
 * @throws DatastoreError DATASTORE_BAD_CONFIG for settings that make no sense together.
 */
export async function openDatastore(config: DatastoreConfig, context: DatastoreContext): Promise<DatastoreDriver> {
  if (config.type === "file") {
    const driver = new FileDriver(config, context);
    await driver.start();
    return driver;
  }
  if (config.type === "kubernetes") return KubernetesDriver.open(config, context);
  // Only who uses it pays for the library.
  const { EtcdDriver } = await import("./etcd/etcd-driver.ts");
  return new EtcdDriver(config, context);
}
