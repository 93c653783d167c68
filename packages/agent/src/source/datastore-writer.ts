import type { Clock } from "@bulrush/base";
import {
  type DatastoreConfig,
  datastoreConfigFromEnvironment,
  type DatastoreWriter,
  openDatastoreWriter,
  withEtcdSettings,
} from "@bulrush/datastore";
import type { FelixConfig } from "../config/felix-config.ts";

/** The datastore that the settings name, also where the agent follows a Typha. Throws DATASTORE_BAD_CONFIG. */
export function datastoreOf(config: FelixConfig, env: Readonly<Record<string, string | undefined>>): DatastoreConfig {
  return datastoreConfigFromEnvironment(
    {
      ...withEtcdSettings(env, config),
      ...(config.DatastoreType !== "" && { FELIX_DATASTORETYPE: config.DatastoreType }),
    },
    "FELIX_",
  );
}

/** Calls `work` with the datastore open for writing, and closes it. `signal` aborts after `limitMs`. */
export async function withDatastoreWriter<T>(
  config: DatastoreConfig,
  { clock, limitMs }: { readonly clock: Clock; readonly limitMs: number },
  work: (writer: DatastoreWriter, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const cancel = clock.after(limitMs, () => limit.abort(new Error(`Not done within ${limitMs / 1000} s`)));
  try {
    const writer = await openDatastoreWriter(config, { clock });
    try {
      return await work(writer, limit.signal);
    } finally {
      await writer.close();
    }
  } finally {
    cancel();
  }
}
