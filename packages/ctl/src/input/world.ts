import { systemClock } from "@bulrush/base";
import {
  datastoreConfigFromEnvironment,
  felixSyncer,
  type ManifestResource,
  openDatastore,
  type Problem,
} from "@bulrush/datastore";
import type { Update } from "@bulrush/model";
import type { Arguments } from "../cli/arguments.ts";
import type { CommandIo } from "../cli/io.ts";
import type { OptionSpec } from "../cli/option.ts";
import { inputError, usageError } from "../errors.ts";
import { FILE_OPTION, readManifestsOf, reportProblems } from "./manifests.ts";

/** What flows are judged on. */
export interface World {
  /** What the felix syncer has of it. */
  readonly updates: readonly Update[];
  /** The manifests, where it comes from those. */
  readonly resources: readonly ManifestResource[];
  /** Of the manifests. None of a datastore: what its syncer puts in the place of a bad resource, the agents have too. */
  readonly problems: readonly Problem[];
}

const TIME_LIMIT_MS = 600_000;

/** -f PATH (several, together) or --live. */
export const WORLD_OPTIONS: readonly OptionSpec[] = [
  { ...FILE_OPTION, multiple: true, doc: `${FILE_OPTION.doc} May be given several times.` },
  { name: "live", doc: "Instead of manifests: what the datastore of the environment holds now." },
];

/** The manifests of -f, or what the datastore holds. */
export async function readWorld(args: Arguments, io: CommandIo): Promise<World> {
  if (!args.has("live")) {
    if (!args.has("file")) throw usageError("-f PATH is needed, or --live for what the datastore holds");
    return readManifestsOf(args.all("file"), io);
  }
  if (args.has("file")) throw usageError("-f and --live are two sources: give one");
  return readLiveWorld(io);
}

/** What the datastore of the environment holds now, as an agent that starts would get it. */
export async function readLiveWorld(io: CommandIo): Promise<World> {
  const clock = systemClock({ keepAlive: true });
  const driver = await openDatastore(datastoreConfigFromEnvironment(io.env), { clock });
  const known = new Map<string, Update>();
  const inSync = Promise.withResolvers<void>();
  const syncer = felixSyncer({
    driver,
    clock,
    callbacks: {
      onUpdates(updates) {
        for (const update of updates) {
          if (update.value === undefined) known.delete(update.path);
          else known.set(update.path, update);
        }
      },
      onStatusUpdated(status) {
        if (status === "in-sync") inSync.resolve();
      },
    },
  });
  const cancel = clock.after(TIME_LIMIT_MS, () => {
    const reasons = syncer.report().flatMap(({ kind, reason }) => (reason === undefined ? [] : [`${kind}: ${reason}`]));
    inSync.reject(inputError(`The datastore was not read within ${TIME_LIMIT_MS / 1000} s. ${reasons.join("; ")}`));
  });
  try {
    syncer.start();
    await inSync.promise;
    await reportProblems(syncer.problems(), io);
    return { updates: [...known.values()], resources: [], problems: [] };
  } finally {
    cancel();
    await syncer.stop();
    await driver.close();
  }
}
