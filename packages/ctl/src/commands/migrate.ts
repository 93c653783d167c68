import { randomUUID } from "node:crypto";
import { datastoreConfigFromEnvironment, findLegacyData, legacyDataError } from "@bulrush/datastore";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { legacyNote } from "../migrate/legacy-note.ts";
import { abortMigration, migrate as migrateStores, type MigrationReport } from "../migrate/migration.ts";
import { storeName, storesOf } from "../migrate/store-spec.ts";
import { outputFormat, outputOption, printValue } from "../output/format.ts";
import { withWriterOf } from "../store/with-writer.ts";

const FORMATS = ["text", "json", "yaml"] as const;

/** A day: the addresses of a big cluster are many. */
const LIMIT_MS = 86_400_000;

/** bulrushctl migrate --from STORE --to STORE */
export const migrate: Command = {
  name: "migrate",
  summary: "Copy everything from one datastore into another, with both locked",
  usage: [
    "migrate --from STORE --to STORE [--merge] [--unlock-source] [-o FORMAT]",
    "migrate --from STORE --to STORE --abort",
    "migrate --from-v1",
  ],
  description: [
    "Copies all Calico resources, addresses too, from one datastore into another, kind by kind, and compares them at the end. While it runs both are locked (datastoreReady: false in ClusterInformation): agents keep what they enforce and wait. At the end the target is open; the source stays locked, so that nobody goes on writing to it, unless --unlock-source.",
    "STORE is kubernetes, etcdv3, or file:DIRECTORY; the other settings come from the environment, or from a file of NAME=VALUE lines.",
    "Before anything is written it refuses a target that is not empty (the built-in tiers aside; --merge replaces what is in both and keeps the rest), a source with resources that are not valid or files that cannot be read, and policies that the target cannot store. After a failure both stay locked: the same command goes on where it was, --abort opens the source again.",
    "Where the target is Kubernetes, what is made from pods, namespaces and Kubernetes' policies is left out, and nodes go by their names in Kubernetes.",
  ],
  options: [
    { name: "from", value: "STORE", doc: "The source." },
    { name: "to", value: "STORE", doc: "The target." },
    { name: "from-env", value: "FILE", doc: "Settings of the source over those of the environment." },
    { name: "to-env", value: "FILE", doc: "Settings of the target over those of the environment." },
    { name: "merge", doc: "Also into a target that is not empty." },
    { name: "skip-unsupported", doc: "Leave out policies that the target cannot store." },
    { name: "unlock-source", doc: "Open the source again at the end." },
    { name: "abort", doc: "Give up a migration that failed: open the source." },
    { name: "from-v1", doc: "Say what is to be done about data of Calico before version 3." },
    outputOption(FORMATS, "text"),
  ],
  examples: [
    {
      what: "from etcd into Kubernetes",
      line: "ETCD_ENDPOINTS=http://etcd:2379 bulrushctl migrate --from etcdv3 --to kubernetes",
    },
    { what: "into a directory", line: "bulrushctl migrate --from etcdv3 --to file:/etc/bulrush/policies" },
  ],
  run: runMigrate,
};

async function runMigrate(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  if (args.has("from-v1")) {
    await io.err.write(`${await withWriterOf(datastoreConfigFromEnvironment(io.env), legacyNote)}\n`);
    return 1;
  }
  const { from, to } = storesOf(args, io);
  return withWriterOf(
    from,
    async (source, signal) => {
      if (args.has("abort")) {
        await abortMigration({ source, signal });
        await io.out.write(`${storeName(from)} is open for use again; what was copied stays in ${storeName(to)}\n`);
        return 0;
      }
      return withWriterOf(
        to,
        async (target) => {
          for (const writer of [source, target]) {
            const legacy = await findLegacyData(writer, signal);
            if (legacy !== undefined) throw legacyDataError(legacy);
          }
          const report = await migrateStores({
            source,
            target,
            sourceName: storeName(from),
            targetName: storeName(to),
            signal,
            merge: args.has("merge"),
            skipUnsupported: args.has("skip-unsupported"),
            unlockSource: args.has("unlock-source"),
            newId: randomUUID,
            nowMs: Date.now(),
            say: async (line) => {
              await io.err.write(`${line}\n`);
              await io.err.flush();
            },
          });
          if (format === "text") await printReport(report, io);
          else await printValue(io.out, format, report);
          return 0;
        },
        LIMIT_MS,
      );
    },
    LIMIT_MS,
  );
}

async function printReport({ copied, unchanged, skipped, different }: MigrationReport, io: CommandIo): Promise<void> {
  const total = Object.values(copied).reduce((sum, count) => sum + count, 0);
  for (const { kind, count, reason } of skipped) await io.out.write(`left out: ${count} ${kind} (${reason})\n`);
  for (const name of different) await io.out.write(`reads back otherwise: ${name}\n`);
  await io.out.write(`${total} resources copied, ${unchanged} were there already\n`);
}
