#!/usr/bin/env -S node --conditions=bulrush-source
import { parseArgs } from "node:util";
import { runDaemon } from "../src/daemon/run-daemon.ts";
import { VERSION } from "../src/version.ts";

const HELP = `Usage: bulrush-typha [--config-file PATH]

Reads resources from a datastore once, and fans them out to the agents of many hosts, so that they
need not all watch the datastore themselves. Agents connect to port 5473 (TYPHA_SERVERPORT).

Settings come from TYPHA_<NAME> variables, then from a file of "Name = value" lines. To begin with:
  DATASTORE_TYPE=file BULRUSH_DATASTORE_DIR=/etc/bulrush/manifests
                              serve a directory of YAML or JSON manifests, and watch it
  TYPHA_SERVERKEYFILE, TYPHA_SERVERCERTFILE, TYPHA_CAFILE, and TYPHA_CLIENTCN or TYPHA_CLIENTURISAN
                              mutual TLS: all of them together, or plain TCP without any
  TYPHA_HEALTHENABLED=true    /liveness and /readiness, in words, on localhost:9098
  TYPHA_PROMETHEUSMETRICSENABLED=true
                              /metrics on port 9093
  TYPHA_LOGFILEPATH=none      log to standard output only

What is going on:
  curl localhost:9098/readiness
  curl localhost:9097/api/v1/status     also .../clients and .../caches

Options:
  -c, --config-file PATH  The file. Default: /etc/calico/typha.cfg, which may be missing.
  -h, --help              Show this help.
  -v, --version           Show the version. The argument "version" does the same.

Exit codes:
  0  stopped by SIGTERM or SIGINT, after a goodbye to every client
  1  a bug: the reason is on standard error
  2  the command line is wrong
Bad settings do not end it: it says what is wrong, and reads them again every second.
`;

interface Arguments {
  readonly help?: boolean;
  readonly version?: boolean;
  readonly "config-file"?: string;
}

function readArguments(): Arguments {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        help: { type: "boolean", short: "h" },
        version: { type: "boolean", short: "v" },
        "config-file": { type: "string", short: "c" },
      },
    });
    const [word, ...more] = positionals;
    if (word === "version" && more.length === 0) return { ...values, version: true };
    if (word !== undefined) throw new Error(`Unexpected argument "${word}"`);
    return values;
  } catch (error) {
    console.error(`${(error as Error).message}\nTry bulrush-typha --help`);
    process.exit(2);
  }
}

const args = readArguments();
if (args.help === true) console.log(HELP);
else if (args.version === true) console.log(VERSION);
else process.exit(await runDaemon({ env: process.env, configFile: args["config-file"] }));
