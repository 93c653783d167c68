import { readFileSync } from "node:fs";
import { type Clock, hasCode, messageOf, sleep } from "@bulrush/base";
import { type DatastoreConfig, datastoreConfigFromEnvironment } from "@bulrush/datastore";
import type { LoadedConfig, Logger, RootLogger } from "@bulrush/service";
import { DEFAULT_CONFIG_FILE, loadTyphaConfig } from "../config/load-typha-config.ts";
import type { TyphaConfig } from "../config/typha-config.ts";
import { openLog } from "./open-log.ts";

export interface SettleOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Undefined: the default one, which may be missing. */
  readonly configFile: string | undefined;
  readonly clock: Clock;
  readonly early: Logger;
  readonly signal: AbortSignal;
  /** Called after each try, with what is wrong; "" when nothing is. */
  readonly onTry: (config: TyphaConfig, problems: string) => void;
}

/** Everything that settings decide, once they are good. */
export interface Settled {
  readonly loaded: LoadedConfig<TyphaConfig>;
  readonly logger: RootLogger;
  readonly datastore: DatastoreConfig;
}

const RETRY_MS = 1000;

/**
 * Reads the settings until they are good, once a second: a Typha with bad settings is alive and says what is wrong,
 * and a corrected file needs no restart. Undefined when the signal came first.
 */
export async function settle(options: SettleOptions): Promise<Settled | undefined> {
  const { clock, early, signal, onTry } = options;
  let said = "";
  while (!signal.aborted) {
    const { loaded, problems: readProblems } = readSettings(options.env, options.configFile);
    const problems = [...readProblems];
    let settled: Settled | undefined;
    if (problems.length === 0) {
      try {
        const datastore = datastoreConfig(options.env, loaded.values);
        settled = { loaded, datastore, logger: openLog(loaded, early) };
      } catch (error) {
        problems.push(messageOf(error));
      }
    }
    const text = problems.join("; ");
    onTry(loaded.values, text);
    if (settled !== undefined) return settled;
    // The same every second is said once.
    if (text !== said) early.error("Bad settings, reading them again every second", { problems });
    said = text;
    await sleep(clock, RETRY_MS, signal).catch(() => {});
  }
  return undefined;
}

/** Reads environment and file once. A missing default file is fine; one that was named must be there. */
export function readSettings(
  env: Readonly<Record<string, string | undefined>>,
  configFile: string | undefined,
): { readonly loaded: LoadedConfig<TyphaConfig>; readonly problems: readonly string[] } {
  const fileName = configFile ?? DEFAULT_CONFIG_FILE;
  let fileText: string | undefined;
  const problems: string[] = [];
  try {
    fileText = readFileSync(fileName, "utf8");
  } catch (error) {
    const missing = hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR");
    if (!missing) problems.push(`Cannot read "${fileName}": ${messageOf(error)}`);
  }
  const loaded = loadTyphaConfig({ env, fileText, fileName });
  problems.push(...loaded.errors.map(({ message }) => message));
  return { loaded, problems };
}

/** The datastore, with what Typha's own file says about it before the shared variables. */
function datastoreConfig(env: SettleOptions["env"], config: TyphaConfig): DatastoreConfig {
  const { DatastoreType, EtcdEndpoints } = config;
  return datastoreConfigFromEnvironment(
    {
      ...env,
      ...(DatastoreType !== undefined && { TYPHA_DATASTORETYPE: DatastoreType }),
      ...(EtcdEndpoints.length > 0 && { ETCD_ENDPOINTS: EtcdEndpoints.join(",") }),
    },
    "TYPHA_",
  );
}
