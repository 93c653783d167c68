import { type ConfigLayer, type ConfigTable, loadConfig, type LoadedConfig, type Parameter } from "@bulrush/service";
import { ACCEPTED_SETTINGS, type AcceptedSettings, otherFelixSettings } from "./accepted-settings.ts";
import { DATAPLANE_SETTINGS, type DataplaneSettings } from "./dataplane-settings.ts";
import { PROCESS_SETTINGS, type ProcessSettings } from "./process-settings.ts";

/** All settings of the agent. */
export interface FelixConfig extends ProcessSettings, DataplaneSettings, AcceptedSettings {}

const OWN: ConfigTable<FelixConfig> = { ...PROCESS_SETTINGS, ...DATAPLANE_SETTINGS, ...ACCEPTED_SETTINGS };

/** Every setting with its default and reference text; those without effect here are accepted and named. */
export const FELIX_CONFIG: ConfigTable<FelixConfig> = { ...OWN, ...otherFelixSettings(new Set(Object.keys(OWN))) };

/** Before each name in the environment; matched in any case. */
export const FELIX_PREFIX = "FELIX_";
/** Upstream's path. */
export const DEFAULT_CONFIG_FILE = "/etc/calico/felix.cfg";

/** Where local settings come from. */
export interface LocalSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Undefined: there is no file. */
  readonly fileText: string | undefined;
  readonly fileName: string;
}

/** The settings by the strongest source: environment, file, then `layers` of the datastore. */
export function loadFelixConfig(local: LocalSources, layers: readonly ConfigLayer[] = []): LoadedConfig<FelixConfig> {
  return loadConfig(FELIX_CONFIG, { prefix: FELIX_PREFIX, ...local, layers, rules: crossFieldProblems });
}

/** The dataplane writes no files unless it is told where. */
const ALWAYS_TOLD: ReadonlySet<string> = new Set(["EndpointStatusPathPrefix", "MTUFile"]);

/**
 * The settings that the dataplane gets, as text by name: those that are set somewhere and well written, in the form that
 * their type writes, so that both read the same value; and where to write files. What is not there has its default; `none` is no value.
 */
export function dataplaneTexts(loaded: LoadedConfig<FelixConfig>): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const [name, parameter] of Object.entries<Parameter<unknown>>(DATAPLANE_SETTINGS)) {
    if (!loaded.origins.has(name) && !ALWAYS_TOLD.has(name)) continue;
    texts.set(name, parameter.type.format(loaded.values[name as keyof DataplaneSettings]) || "none");
  }
  return texts;
}

function crossFieldProblems(values: FelixConfig): string[] {
  const { TyphaKeyFile, TyphaCertFile, TyphaCAFile, TyphaCN, TyphaURISAN } = values;
  const tls = { TyphaKeyFile, TyphaCertFile, TyphaCAFile };
  const missing = Object.entries(tls)
    .filter(([, value]) => value === "")
    .map(([name]) => name);
  if (TyphaCN === "" && TyphaURISAN === "") missing.push("TyphaCN or TyphaURISAN");
  if (missing.length === 0 || missing.length === 4) return [];
  return [`TLS to Typha needs all of its settings or none; missing: ${missing.join(", ")}`];
}
