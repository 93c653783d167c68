import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { messageOf } from "@bulrush/base";
import { type DatastoreConfig, datastoreConfigFromEnvironment } from "@bulrush/datastore";
import type { Arguments } from "../cli/arguments.ts";
import type { CommandIo } from "../cli/io.ts";
import { inputError, usageError } from "../errors.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface TwoStores {
  readonly from: DatastoreConfig;
  readonly to: DatastoreConfig;
}

/** The two datastores that `--from`, `--to` and the files of settings beside them name. */
export function storesOf(args: Arguments, io: CommandIo): TwoStores {
  const from = storeOf(args.need("from"), args.get("from-env"), io.env);
  const to = storeOf(args.need("to"), args.get("to-env"), io.env);
  if (isDeepStrictEqual(from, to)) throw usageError("--from and --to are the same datastore");
  return { from, to };
}

/** "file:/etc/policies" of a directory, else the type. */
export function storeName(config: DatastoreConfig): string {
  return config.type === "file" ? `file:${config.directory}` : config.type;
}

function storeOf(spec: string, envFile: string | undefined, env: Environment): DatastoreConfig {
  if (spec.startsWith("file:")) return { type: "file", directory: spec.slice("file:".length) };
  const own = envFile === undefined ? env : { ...env, ...readSettings(envFile) };
  return datastoreConfigFromEnvironment({ ...own, DATASTORE_TYPE: spec, CALICO_DATASTORE_TYPE: undefined });
}

/** NAME=VALUE lines; `#` begins a comment, quotes around a value go. */
function readSettings(path: string): Environment {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw inputError(`Cannot read "${path}": ${messageOf(error)}`, error);
  }
  const settings: Record<string, string> = {};
  for (const [i, line] of text.split("\n").entries()) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    const match = /^(?:export\s+)?([A-Za-z_]\w*)=(.*)$/.exec(trimmed);
    if (match === null) throw inputError(`"${path}" line ${i + 1} is not NAME=VALUE`);
    const [, name = "", value = ""] = match;
    settings[name] = value.replace(/^(["'])(.*)\1$/, "$2");
  }
  return settings;
}
