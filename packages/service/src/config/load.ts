import { existsSync } from "node:fs";
import { nearestName } from "@bulrush/base";
import { isSecretName, REDACTED } from "../redact.ts";
import { parseIni } from "./ini.ts";
import type { ConfigTable, Parameter, ParseContext } from "./parameter.ts";
import { isServiceLink } from "./service-link.ts";

/** Settings from one more place, weaker than the environment and the file. Names in any case. */
export interface ConfigLayer {
  /** As it is named in messages: "FelixConfiguration default". */
  readonly name: string;
  /** By name, as text; an empty one counts as not set. */
  readonly values: ReadonlyMap<string, string>;
}

/** The sources of a configuration, by falling strength: environment, file, layers, defaults. */
export interface LoadConfigOptions<C> {
  /** "TYPHA_" or "FELIX_"; matched in any case. */
  readonly prefix: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The text of the INI file; undefined when there is no file. */
  readonly fileText?: string | undefined;
  /** For messages. Default "configuration file". */
  readonly fileName?: string;
  /** Datastore layers, strongest first. */
  readonly layers?: readonly ConfigLayer[];
  /** Rules over several settings: each string is an error of the whole configuration. */
  readonly rules?: (values: C) => readonly string[];
  /** Default: asks the file system. */
  readonly fileExists?: (path: string) => boolean;
}

/** Something to tell the operator. */
export interface ConfigProblem {
  /** The canonical name, or the name as written when it is unknown; "" when it concerns a whole source or a rule. */
  readonly name: string;
  /** "environment", the file's name, the layer's name, or "rules". */
  readonly source: string;
  readonly message: string;
}

/** Where a setting that is not at its default comes from. */
export interface ConfigOrigin {
  /** As in {@link ConfigProblem}. */
  readonly source: string;
  /** As written; redacted when its name looks like a secret. */
  readonly text: string;
}

/** What {@link loadConfig} made of its sources. */
export interface LoadedConfig<C> {
  /** Always complete: where a text was bad, the default stands. */
  readonly values: C;
  /** By canonical name. */
  readonly origins: ReadonlyMap<string, ConfigOrigin>;
  /** Canonical names of the settings whose text was bad: the default stands in for what was meant. */
  readonly rejected: ReadonlySet<string>;
  /** Unknown names, bad values, duplicates, settings without effect: the process goes on. */
  readonly warnings: readonly ConfigProblem[];
  /** Non-empty: the process must not start its work with these values; one that must run has the defaults in them. */
  readonly errors: readonly ConfigProblem[];
}

/** One text of one source, before it is known whether the name means anything. */
interface RawSetting {
  readonly name: string;
  readonly text: string;
  readonly source: string;
  /** For messages: "line 7 of /etc/calico/typha.cfg", "TYPHA_FOO". */
  readonly place: string;
  readonly fromDatastore: boolean;
  /** In the environment, where other programs' names may share the prefix. */
  readonly ignoreIfUnknown: boolean;
}

/**
 * Reads every source and never throws. For each setting the strongest source wins by canonical name: environment, file,
 * layers in their order, default. An empty text counts as not set; `none` (any case) is the type's zero value.
 */
export function loadConfig<C extends object>(table: ConfigTable<C>, options: LoadConfigOptions<C>): LoadedConfig<C> {
  const warnings: ConfigProblem[] = [];
  const errors: ConfigProblem[] = [];
  const origins = new Map<string, ConfigOrigin>();
  const rejected = new Set<string>();
  const context: ParseContext = { fileExists: options.fileExists ?? existsSync };
  const parameters = new Map(Object.entries(table) as [string, Parameter<unknown>][]);
  const canonical = new Map([...parameters.keys()].map((name) => [name.toLowerCase(), name]));
  const values = Object.fromEntries([...parameters].map(([name, parameter]) => [name, parameter.default]));

  const seen = new Set<string>();
  for (const setting of [
    ...envSettings(options),
    ...fileSettings(options, warnings, errors),
    ...layerSettings(options),
  ]) {
    const name = canonical.get(setting.name.toLowerCase());
    const parameter = name === undefined ? undefined : parameters.get(name);
    if (name === undefined || parameter === undefined) {
      if (!setting.ignoreIfUnknown) warnings.push(unknownName(setting, parameters.keys()));
      continue;
    }
    if (setting.text === "" || seen.has(name)) continue;
    if (setting.fromDatastore && parameter.local === true) continue;
    seen.add(name);
    const { source } = setting;
    const shown = isSecretName(name) ? REDACTED : setting.text;
    const result = parseSetting(parameter, setting.text, context);
    if (result.ok) {
      values[name] = result.value;
      origins.set(name, { source, text: shown });
      if (parameter.noEffect !== undefined)
        warnings.push({
          name,
          source,
          message: `${setting.place}: accepted, no effect, because ${parameter.noEffect}`,
        });
      continue;
    }
    rejected.add(name);
    const fatal = parameter.dieOnFail === true || result.fatal;
    const message = `${setting.place}: "${shown}" ${result.problem}`;
    if (fatal) errors.push({ name, source, message });
    else warnings.push({ name, source, message: `${message}; the default ${describeDefault(parameter)} is used` });
  }
  for (const message of errors.length > 0 ? [] : (options.rules?.(values as C) ?? []))
    errors.push({ name: "", source: "rules", message });
  return { values: values as C, origins, rejected, warnings, errors };
}

function parseSetting(
  parameter: Parameter<unknown>,
  text: string,
  context: ParseContext,
): { ok: true; value: unknown } | { ok: false; problem: string; fatal: boolean } {
  if (text.toLowerCase() === "none") {
    if (parameter.nonZero === true) return { ok: false, problem: "is not allowed: it needs a value", fatal: true };
    // A word of the list may itself be "none" (ConnectionRebalancingMode): then it is that word.
    const own = parameter.type.parse(text, context);
    return { ok: true, value: own.ok && parameter.type.acceptsNone === true ? own.value : parameter.type.zero };
  }
  const result = parameter.type.parse(text, context);
  return result.ok ? result : { ...result, fatal: false };
}

function describeDefault(parameter: Parameter<unknown>): string {
  const text = parameter.type.format(parameter.default);
  return text === "" ? "(none)" : text;
}

/** Sorted, so that two spellings of one name (`TYPHA_X`, `typha_x`) always give the same winner. */
function envSettings<C>(options: LoadConfigOptions<C>): RawSetting[] {
  const prefix = options.prefix.toLowerCase();
  return Object.entries(options.env)
    .filter(([variable, text]) => text !== undefined && variable.toLowerCase().startsWith(prefix))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([variable, value]) => {
      const name = variable.slice(prefix.length);
      const text = (value ?? "").trim();
      return {
        name,
        text,
        source: "environment",
        place: variable,
        fromDatastore: false,
        ignoreIfUnknown: name === "" || isServiceLink(name, text),
      };
    });
}

/** The last of several entries of one name counts; a broken line is an error, for the line after it may be half of it. */
function fileSettings<C>(
  options: LoadConfigOptions<C>,
  warnings: ConfigProblem[],
  errors: ConfigProblem[],
): RawSetting[] {
  if (options.fileText === undefined) return [];
  const source = options.fileName ?? "configuration file";
  const ini = parseIni(options.fileText);
  for (const { line, message } of ini.problems)
    errors.push({ name: "", source, message: `Line ${line} of ${source}: ${message}` });
  const byName = new Map<string, RawSetting>();
  for (const { name, value, line } of ini.entries) {
    const place = `${name} in line ${line} of ${source}`;
    const earlier = byName.get(name.toLowerCase());
    if (earlier !== undefined)
      warnings.push({ name, source, message: `${place}: set before (${earlier.place}); the last one counts` });
    byName.set(name.toLowerCase(), { name, text: value, source, place, fromDatastore: false, ignoreIfUnknown: false });
  }
  return [...byName.values()];
}

function layerSettings<C>(options: LoadConfigOptions<C>): RawSetting[] {
  return (options.layers ?? []).flatMap((layer) =>
    [...layer.values].map(([name, text]) => ({
      name,
      text: text.trim(),
      source: layer.name,
      place: `${name} of ${layer.name}`,
      fromDatastore: true,
      ignoreIfUnknown: false,
    })),
  );
}

function unknownName(setting: RawSetting, names: Iterable<string>): ConfigProblem {
  const near = nearestName(setting.name, names);
  const hint = near === undefined ? "" : `; did you mean ${near}?`;
  return { name: setting.name, source: setting.source, message: `${setting.place}: unknown setting, ignored${hint}` };
}
