import type { Clock } from "@bulrush/base";
import { DEFAULT_BURST, DEFAULT_QPS, type KubernetesDatastoreConfig } from "../kubernetes-config.ts";
import { KubeClient } from "./kube-client.ts";
import { KubeConnection } from "./kube-connection.ts";
import { RequestLimit } from "./request-limit.ts";

/** @throws DatastoreError DATASTORE_BAD_CONFIG. The server is asked for nothing yet. */
export async function openKubeClient(config: KubernetesDatastoreConfig, clock: Clock): Promise<KubeClient> {
  const { qps = DEFAULT_QPS, burst = DEFAULT_BURST } = config;
  const connection = await KubeConnection.open(config, clock);
  return new KubeClient({ connection, clock, limit: new RequestLimit({ qps, burst, clock }) });
}
