#!/usr/bin/env -S node --conditions=bulrush-source
import "../src/thread-pool.ts";
import { parseArgs } from "node:util";
import { runDaemon } from "../src/daemon.ts";

const HELP = `Usage: bulrush-agent [--config-file PATH]

Enforces network policy on this host. Reads policy from a Typha (FELIX_TYPHAADDR), or from a datastore
(DATASTORE_TYPE=file|kubernetes|etcdv3), and programs the kernel. Stopping it leaves the kernel as it is.

Settings come from FELIX_<NAME> variables and from a file of "Name = value" lines.

Options:
  -c, --config-file PATH  The file. Default: /etc/calico/felix.cfg, which may be missing.
  -h, --help              Show this help.

Exit codes:
  0    stopped by a signal
  1    the dataplane ended, or the datastore is not ready any more
  2    the command line is wrong
  129  settings in the datastore have changed that only a start takes up: start again
`;

let values: { readonly help?: boolean; readonly "config-file"?: string };
try {
  ({ values } = parseArgs({
    options: { help: { type: "boolean", short: "h" }, "config-file": { type: "string", short: "c" } },
  }));
} catch (error) {
  console.error(`${(error as Error).message}\nTry bulrush-agent --help`);
  process.exit(2);
}
if (values.help === true) {
  console.log(HELP);
  process.exit(0);
}
process.exit(await runDaemon({ env: process.env, configFile: values["config-file"] }));
