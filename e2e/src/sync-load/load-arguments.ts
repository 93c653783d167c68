import { parseArgs } from "node:util";
import { SYNCER_TYPES, type SyncerType } from "@bulrush/proto";
import { parseServerAddress, type ServerAddress, tlsFromParameters, type TLSParameters } from "@bulrush/sync-client";
import { BAD_WAYS, type BadWay, type LoadPlan } from "./load-plan.ts";

export const HELP: string = `Usage: bulrush-sync-load --server HOST:PORT [--server ...] [options]

Holds many sync clients against Typhas from processes of its own, measures how long changes take to reach them, and
misbehaves where it is told to. It only reads; what changes in the datastore meanwhile is up to you.

A first try, against a Typha without TLS:
  bulrush-sync-load --server 127.0.0.1:5473 --clients 500 --seconds 20
As agents connect, four processes, eight clients that keep and compare everything:
  bulrush-sync-load --server typha-1:5473 --server typha-2:5473 --clients 2000 --processes 4 --judged 8 \\
    --ca ca.crt --cert client.crt --key client.key --server-cn typha-server
Half of the clients lose their connections together every 5 seconds, while others are a burden:
  bulrush-sync-load --server 127.0.0.1:5473 --clients 400 --storm 200 --storm-every 5 \\
    --slow-reader 5 --black-hole 5 --half-open 50 --garbage 5 --flood 2

Clients:
  --clients N          Light clients: they receive, answer pings, acknowledge and check that no change is left out, but
                       keep nothing. Default 100.
  --judged N           Clients as agents have them. What they hold in the end must be equal, and no key may have been
                       deleted that comes back as it was. Default 0.
  --processes N        Processes to share them. One core holds a thousand light clients easily. Default 1.
  --dial-rate N        New connections a second; 0: all at once. Default 200.
  --ack-every SECONDS  How often a light client says what it has applied; 0: never. Default 1.
  --cold               Light clients that come back want a snapshot, as after a restart of their host.
  --syncer NAME        ${SYNCER_TYPES.join(", ")}. Default felix.

Misbehaviour. Each is a number of clients; whenever the server ends one it comes again, and the reason is counted:
  --slow-reader N      Reads --slow-bytes (default 1000) a second.
  --black-hole N       Says hello and never reads: the host is gone, and no packet says so.
  --half-open N        Stops halfway: in TLS, in the upgrade, in a message.
  --garbage N          Random bytes in place of TLS, of HTTP, of the hello, of a message.
  --flood N            Pings without end.
  --storm N            Light clients that drop their connections together, each --storm-every SECONDS (default 10).

TLS, all of it or none:
  --ca FILE --cert FILE --key FILE and --server-cn NAME or --server-uri URI

Run:
  --seconds N          How long. Then what misbehaves ends, and everybody has --settle SECONDS (default 30) to be in
                       sync. Ctrl-C ends the load early, a second one all of it. Default 30.
  --json               The result as one line of JSON. Progress is on standard error.
  -h, --help           Show this help.

Times are from the server seeing a change in its datastore to a client having it, by the clocks of both hosts.
Exit codes: 0 all is well; 1 somebody is not in sync, a change was left out, states differ; 2 the command line is wrong.
`;

export interface LoadArguments {
  readonly plan: LoadPlan;
  readonly processes: number;
  readonly seconds: number;
  readonly settleSeconds: number;
  readonly isJSON: boolean;
}

const OPTIONS = {
  help: { type: "boolean", short: "h", default: false },
  json: { type: "boolean", default: false },
  cold: { type: "boolean", default: false },
  server: { type: "string", multiple: true, default: [] as string[] },
  syncer: { type: "string", default: "felix" },
  clients: { type: "string", default: "100" },
  judged: { type: "string", default: "0" },
  processes: { type: "string", default: "1" },
  "dial-rate": { type: "string", default: "200" },
  "ack-every": { type: "string", default: "1" },
  storm: { type: "string", default: "0" },
  "storm-every": { type: "string", default: "10" },
  "slow-bytes": { type: "string", default: "1000" },
  "slow-reader": { type: "string", default: "0" },
  "black-hole": { type: "string", default: "0" },
  "half-open": { type: "string", default: "0" },
  garbage: { type: "string", default: "0" },
  flood: { type: "string", default: "0" },
  seconds: { type: "string", default: "30" },
  settle: { type: "string", default: "30" },
  ca: { type: "string" },
  cert: { type: "string" },
  key: { type: "string" },
  "server-cn": { type: "string" },
  "server-uri": { type: "string" },
} as const;

/**
 * Reads the command line. Undefined where help is asked for.
 *
 * @throws Error that says what is wrong with it.
 */
export function readArguments(argv: readonly string[]): LoadArguments | undefined {
  const { values } = parseArgs({ args: [...argv], options: OPTIONS });
  if (values.help) return undefined;
  const servers: readonly ServerAddress[] = values.server.map(parseServerAddress);
  if (servers.length === 0) throw new Error("--server HOST:PORT is needed");
  const whole = (name: keyof typeof OPTIONS, least = 0): number => {
    const text = String(values[name]);
    if (!/^\d{1,7}$/.test(text) || Number(text) < least)
      throw new Error(`--${name} is '${text}', expected a whole number from ${least}`);
    return Number(text);
  };
  const seconds = (name: keyof typeof OPTIONS): number => {
    const text = String(values[name]);
    if (!/^\d{1,6}(\.\d+)?$/.test(text)) throw new Error(`--${name} is '${text}', expected seconds`);
    return Number(text);
  };
  const tls: TLSParameters = {
    caFile: values.ca,
    certFile: values.cert,
    keyFile: values.key,
    serverCN: values["server-cn"],
    serverURISAN: values["server-uri"],
  };
  // Says what is missing; the files are read later.
  tlsFromParameters(tls);
  return {
    plan: {
      servers,
      tls,
      syncer: syncerOf(values.syncer),
      namePrefix: `load-${process.pid}`,
      light: whole("clients"),
      judged: whole("judged"),
      bad: Object.fromEntries(BAD_WAYS.map((way) => [way, whole(way)])) as Record<BadWay, number>,
      storm: whole("storm"),
      stormEveryMs: seconds("storm-every") * 1000,
      isCold: values.cold,
      dialRate: whole("dial-rate"),
      ackEveryMs: seconds("ack-every") * 1000,
      slowBytesPerSecond: whole("slow-bytes", 1),
    },
    processes: whole("processes", 1),
    seconds: seconds("seconds"),
    settleSeconds: seconds("settle"),
    isJSON: values.json,
  };
}

function syncerOf(text: string): SyncerType {
  const syncer = SYNCER_TYPES.find((type) => type === text);
  if (syncer === undefined) throw new Error(`--syncer is '${text}', expected one of ${SYNCER_TYPES.join(", ")}`);
  return syncer;
}
