import { systemClock } from "@bulrush/base";
import {
  type DatastoreConfig,
  datastoreConfigFromEnvironment,
  type DatastoreWriter,
  openDatastoreWriter,
} from "@bulrush/datastore";
import type { CommandIo } from "../cli/io.ts";

/** Of a whole command, waiting included. */
const TIME_LIMIT_MS = 600_000;

/** Calls `work` with the datastore that the environment asks for, and closes it. */
export function withWriter<T>(
  io: CommandIo,
  work: (writer: DatastoreWriter, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return withWriterOf(datastoreConfigFromEnvironment(io.env), work);
}

/** The same for a datastore of the caller's choice. `limitMs`: when the signal aborts. Default: ten minutes. */
export async function withWriterOf<T>(
  config: DatastoreConfig,
  work: (writer: DatastoreWriter, signal: AbortSignal) => Promise<T>,
  limitMs: number = TIME_LIMIT_MS,
): Promise<T> {
  const clock = systemClock({ keepAlive: true });
  const limit = new AbortController();
  const cancel = clock.after(limitMs, () => limit.abort(new Error(`Not done within ${limitMs / 1000} s`)));
  const writer = await openDatastoreWriter(config, { clock });
  try {
    return await work(writer, limit.signal);
  } finally {
    cancel();
    await writer.close();
  }
}
