#!/usr/bin/env -S node --conditions=bulrush-source
import { messageOf } from "@bulrush/base";
import { HELP, type LoadArguments, readArguments } from "./load-arguments.ts";
import { formatFigures } from "./load-figures.ts";
import { WORKER_ARGUMENT } from "./load-messages.ts";
import { runLoad } from "./run-load.ts";
import { runWorker } from "./run-worker.ts";

async function run(args: LoadArguments): Promise<number> {
  const abort = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => abort.abort());
  const figures = await runLoad({
    ...args,
    program: import.meta.filename,
    signal: abort.signal,
    onProgress: ({ seconds, inSync, clients, latencyMs }) =>
      process.stderr.write(
        `${seconds.toFixed(0)} s: ${inSync} of ${clients} in sync, changes p50 ${latencyMs.p50 ?? "-"}, p99 ${latencyMs.p99 ?? "-"} ms\n`,
      ),
  });
  process.stdout.write(args.isJSON ? `${JSON.stringify(figures)}\n` : formatFigures(figures));
  return figures.problems.length === 0 ? 0 : 1;
}

function argumentsOf(argv: readonly string[]): LoadArguments | undefined {
  try {
    return readArguments(argv);
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\nTry bulrush-sync-load --help\n`);
    process.exit(2);
  }
}

const argv = process.argv.slice(2);
if (argv[0] === WORKER_ARGUMENT) {
  runWorker();
} else {
  const args = argumentsOf(argv);
  if (args === undefined) process.stdout.write(HELP);
  else
    process.exitCode = await run(args).catch((error: unknown) => {
      process.stderr.write(`${messageOf(error)}\n`);
      return 1;
    });
}
