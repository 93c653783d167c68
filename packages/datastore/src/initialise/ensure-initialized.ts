import { type Clock, sleep } from "@bulrush/base";
import { BUILT_IN_TIERS, CALICO_V3, type Resource } from "@bulrush/model";
import { resourceIdOf } from "../driver/apply.ts";
import type { DatastoreWriter } from "../driver/writer.ts";
import { datastoreCodeOf } from "../errors.ts";
import { CLUSTER_INFORMATION_ID, type ClusterFacts, nextClusterInformation } from "./cluster-information.ts";

/** What is written where the cluster has none of its own yet. */
export interface InitialiseOptions extends ClusterFacts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** 32 hex digits, different every time. */
  readonly newGuid: () => string;
}

/** After a lost race. */
const RACE_PAUSE_MS = 1000;

/**
 * Makes sure that the datastore has what everybody on it relies on: the ClusterInformation `default` (see
 * {@link nextClusterInformation}; on Kubernetes the cluster's type gets `kdd`) and the three tiers that always exist.
 * What is there already costs a read and no write.
 *
 * Does as much of it as it can. A race is tried again after a second, until the signal.
 *
 * @throws The first error. For the tiers, not being allowed to is none.
 */
export async function ensureInitialized(writer: DatastoreWriter, options: InitialiseOptions): Promise<void> {
  const errors: unknown[] = [];
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      errors.push(error);
    }
  };
  await attempt(() => ensureClusterInformation(writer, options));
  for (const [name, spec] of Object.entries(BUILT_IN_TIERS)) {
    const tier: Resource = { apiVersion: CALICO_V3, kind: "Tier", metadata: { name }, spec };
    await attempt(() => ensureTier(writer, tier, options.signal));
  }
  if (errors.length > 0) throw errors[0];
}

async function ensureClusterInformation(writer: DatastoreWriter, options: InitialiseOptions): Promise<void> {
  const { clock, signal, newGuid, version } = options;
  const clusterType = writer.type === "kubernetes" ? `${options.clusterType},kdd` : options.clusterType;
  for (;;) {
    try {
      const present = await writer.get(CLUSTER_INFORMATION_ID, signal);
      const next = nextClusterInformation(present?.resource, { version, clusterType }, newGuid);
      if (next === undefined) return;
      if (present === undefined) await writer.create(next, signal);
      else await writer.update(next, present.revision, signal);
      return;
    } catch (error) {
      const code = datastoreCodeOf(error);
      if (code !== "DATASTORE_CONFLICT" && code !== "DATASTORE_ALREADY_EXISTS") throw error;
      await sleep(clock, RACE_PAUSE_MS, signal);
    }
  }
}

async function ensureTier(writer: DatastoreWriter, tier: Resource, signal: AbortSignal): Promise<void> {
  try {
    if ((await writer.get(resourceIdOf(tier), signal)) === undefined) await writer.create(tier, signal);
  } catch (error) {
    const code = datastoreCodeOf(error);
    if (code !== "DATASTORE_ALREADY_EXISTS" && code !== "DATASTORE_UNAUTHORIZED") throw error;
  }
}
