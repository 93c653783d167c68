import { hostname } from "node:os";
import { type CancelTimer, messageOf, systemClock } from "@bulrush/base";
import { SYNC_PORT, SYNCER_TYPES, type SyncerType } from "@bulrush/proto";
import { addressServers, createSyncClient, type SyncClientState, tlsFromParameters } from "@bulrush/sync-client";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { inputError, usageError } from "../errors.ts";
import { formatJson } from "../output/json.ts";
import { outputFormat, outputOption } from "../output/format.ts";
import { settingOf, TLS_OPTIONS, tlsParameters } from "../tls/tls-options.ts";

const FORMATS = ["ndjson"] as const;

/** bulrushctl watch --syncer TYPE */
export const watch: Command = {
  name: "watch",
  summary: "Follow one of Typha's streams",
  usage: ["watch --syncer TYPE [--addr HOST:PORT] [--once] [--timeout SECS]"],
  description: [
    'Follows a stream as its clients do, over reconnects and from one Typha to another, and prints a line of JSON for each change: {"type":"new|updated|deleted","key","value","revision"}, and {"type":"status","status"} for the status after the changes before it. A change is printed once, whatever happens to the connection.',
    "What goes wrong with the connection is said on standard error, and tried again.",
  ],
  options: [
    { name: "syncer", value: "TYPE", doc: `The stream: ${SYNCER_TYPES.join(", ")}.` },
    {
      name: "addr",
      value: "HOST:PORT",
      doc: `Typha's sync port; a name that stands for several is fine. Default: FELIX_TYPHAADDR, else localhost:${SYNC_PORT}.`,
    },
    ...TLS_OPTIONS,
    {
      name: "hostname",
      value: "NAME",
      doc: "How this client calls its host. Default: the host's name and -bulrushctl.",
    },
    { name: "once", doc: "End when the stream is in sync: the state as it is now." },
    { name: "timeout", value: "SECS", doc: "With --once: give up after this long. Default: 60." },
    outputOption(FORMATS, "ndjson"),
  ],
  examples: [
    { what: "what do agents get, from now on?", line: "bulrushctl watch --syncer felix" },
    { what: "which pools does the BGP stream have?", line: "bulrushctl watch --syncer bgp --once | grep ippools" },
  ],
  run: runWatch,
};

async function runWatch(args: Arguments, io: CommandIo): Promise<number> {
  outputFormat(args, FORMATS, "ndjson");
  const address = args.get("addr") ?? settingOf(io.env, "FELIX_TYPHAADDR") ?? `localhost:${SYNC_PORT}`;
  const tls = tlsFromParameters(tlsParameters(args, io));
  const timeoutMs = timeoutOf(args);
  const clock = systemClock({ keepAlive: true });
  const done = Promise.withResolvers<void>();
  let cancel: CancelTimer = () => {};
  const print = async (...values: readonly unknown[]): Promise<void> => {
    try {
      for (const value of values) await io.out.write(`${formatJson(value)}\n`);
      await io.out.flush();
    } catch (error) {
      done.reject(error);
    }
  };
  const client = createSyncClient({
    servers: addressServers(address),
    ...(tls !== undefined && { tls }),
    hostname: args.get("hostname") ?? `${hostname()}-bulrushctl`,
    info: "bulrushctl watch",
    syncer: syncerOf(args),
    clock,
    random: Math.random,
    callbacks: {
      onUpdates: (updates) =>
        print(
          ...updates.map(({ type, path, value, revision }) => ({ type, key: path, value: value ?? null, revision })),
        ),
      async onStatusUpdated(status) {
        await print({ type: "status", status });
        if (status === "in-sync" && args.has("once")) done.resolve();
      },
    },
    onStateChange: teller(io),
  });
  if (args.has("once"))
    cancel = clock.after(timeoutMs, () => {
      const why = client.state().lastError?.message ?? `the stream is in ${client.state().status}`;
      done.reject(inputError(`Not in sync after ${timeoutMs / 1000} s: ${why}`));
    });
  client.start();
  try {
    await done.promise;
  } finally {
    cancel();
    await client.stop();
  }
  return 0;
}

/** Says each trouble once, and again after another. */
function teller(io: CommandIo): (state: SyncClientState) => void {
  let said = "";
  return ({ phase, lastError, counts }) => {
    if (phase === "streaming") said = "";
    if (phase !== "waiting" || lastError === undefined || counts.failures === 0 || lastError.message === said) return;
    said = lastError.message;
    const warning = `${io.err.style("yellow", "warning:")} ${lastError.message}\n`;
    io.err.write(warning).then(
      () => io.err.flush(),
      (error: unknown) => void messageOf(error),
    );
  };
}

function syncerOf(args: Arguments): SyncerType {
  const text = args.need("syncer");
  const syncer = SYNCER_TYPES.find((type) => type === text);
  if (syncer === undefined) throw usageError(`--syncer ${text} is not one of ${SYNCER_TYPES.join(", ")}`);
  return syncer;
}

function timeoutOf(args: Arguments): number {
  const text = args.get("timeout") ?? "60";
  const seconds = Number(text);
  if (text.trim() === "" || !(seconds > 0) || seconds > 86_400)
    throw usageError(`--timeout ${text} is not a number of seconds`);
  return seconds * 1000;
}
