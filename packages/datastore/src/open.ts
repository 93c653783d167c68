import type { Clock } from "@bulrush/base";
import type { DatastoreConfig } from "./config.ts";
import type { DatastoreDriver } from "./driver/driver.ts";
import { DatastoreError } from "./errors.ts";
import { FileDriver } from "./file/file-driver.ts";
import { KubernetesDriver } from "./kubernetes/driver/kubernetes-driver.ts";
import type { DatastoreLogger } from "./logger.ts";
import type { Problem } from "./problem.ts";

export interface DatastoreContext {
  readonly clock: Clock;
  readonly logger?: DatastoreLogger;
  /** Numbers in [0, 1), for pauses that differ between processes. Default Math.random. */
  readonly random?: () => number;
  /** Called with the whole list whenever it has changed. */
  readonly onProblems?: (problems: readonly Problem[]) => void;
}

/**
 * Opens the datastore of `config`. It belongs to the caller, who closes it after the syncers on it have stopped.
 *
 * @throws DatastoreError DATASTORE_NOT_SUPPORTED for a driver that is not there yet.
 */
export async function openDatastore(config: DatastoreConfig, context: DatastoreContext): Promise<DatastoreDriver> {
  if (config.type === "file") {
    const driver = new FileDriver(config, context);
    await driver.start();
    return driver;
  }
  if (config.type === "kubernetes") return KubernetesDriver.open(config, context);
  throw new DatastoreError(`The ${config.type} datastore is not there yet`, { code: "DATASTORE_NOT_SUPPORTED" });
}
