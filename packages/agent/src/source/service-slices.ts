import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@bulrush/base";
import { type DatastoreConfig, type DatastoreDriver, openDatastore, type WatchEvent } from "@bulrush/datastore";
import type { EndpointSliceResource } from "@bulrush/model";
import type { Logger } from "@bulrush/service";
import { inClusterSlices, type SliceEvent, type SliceFeed } from "@bulrush/sync-client";

const KIND = "KubernetesEndpointSlice";

export interface ServiceSlicesOptions {
  /** The Kubernetes API. */
  readonly datastore: DatastoreConfig;
  readonly namespace: string;
  readonly serviceName: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The EndpointSlices of a namespace, and the end of what reads them. */
export interface ServiceSlices extends SliceFeed {
  close(): Promise<void>;
}

/**
 * Reads the EndpointSlices of the Kubernetes API, which is opened when they are listed first. With the pod's own account
 * where nothing else says how the API is reached: that takes no client library of Kubernetes.
 */
export function serviceSlices(options: ServiceSlicesOptions): ServiceSlices {
  const { datastore, namespace, serviceName, clock } = options;
  if (datastore.type !== "kubernetes") return driverSlices(options);
  const { inCluster, kubeconfig, kubeconfigInline, server, home, serviceAccountDirectory } = datastore;
  const isToldOtherwise = kubeconfig !== undefined || kubeconfigInline !== undefined || server !== undefined;
  // As the datastore does: a file of the user's comes before the pod's account.
  const isOfUser = home !== undefined && existsSync(join(home, ".kube", "config"));
  if (inCluster === undefined || isToldOtherwise || isOfUser) return driverSlices(options);
  const directory = serviceAccountDirectory === undefined ? {} : { directory: serviceAccountDirectory };
  const feed = inClusterSlices({ ...inCluster, ...directory, namespace, serviceName, clock });
  return { ...feed, close: () => Promise.resolve() };
}

function driverSlices({ datastore, namespace, clock, logger }: ServiceSlicesOptions): ServiceSlices {
  let driver: DatastoreDriver | undefined;
  return {
    async list(signal) {
      driver ??= await openDatastore(datastore, { clock, logger });
      const slices: EndpointSliceResource[] = [];
      let revision = "";
      for await (const page of driver.list({ kind: KIND, revision: "", namespace, signal })) {
        for (const { value } of page.items) if (value !== undefined) slices.push(value as EndpointSliceResource);
        ({ revision } = page);
      }
      return { slices, revision };
    },
    async *watch(revision, signal) {
      driver ??= await openDatastore(datastore, { clock, logger });
      const stream = await driver.watch({ kind: KIND, revision, namespace, signal });
      try {
        for (let events = await stream.next(); events !== undefined; events = await stream.next())
          yield events.flatMap(toSliceEvents);
      } finally {
        stream.close();
      }
    },
    async close() {
      await driver?.close();
    },
  };
}

/** Throws where only a new list helps. */
function toSliceEvents(event: WatchEvent): SliceEvent[] {
  switch (event.type) {
    case "added":
    case "modified": {
      const { value, name } = event.item;
      return [value === undefined ? { type: "deleted", name } : { type: "set", slice: value as EndpointSliceResource }];
    }
    case "deleted":
      if (event.item === undefined) throw new Error("An EndpointSlice was deleted, and the server did not say which");
      return [{ type: "deleted", name: event.item.name }];
    case "bookmark":
      return [];
    case "error":
      throw event.error;
  }
}
