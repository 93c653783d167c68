import type { ConfigTable } from "./parameter.ts";

/** Settings from one more place, weaker than the environment and the file. Names in any case. */
export interface ConfigLayer {
  /** As it is named in messages: "FelixConfiguration default". */
  readonly name: string;
  readonly values: ReadonlyMap<string, string>;
}

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
  /** Default: `fs.existsSync`. */
  readonly fileExists?: (path: string) => boolean;
}

/** Something to tell the operator. `name` is the canonical name, or the name as written when it is unknown. */
export interface ConfigProblem {
  readonly name: string;
  /** "environment", the file's name or the layer's name. */
  readonly source: string;
  readonly message: string;
}

/** Where a setting that is not at its default comes from. `text` is redacted when its name looks like a secret. */
export interface ConfigOrigin {
  readonly source: string;
  readonly text: string;
}

export interface LoadedConfig<C> {
  /** Always complete: where a text was bad, the default stands. */
  readonly values: C;
  readonly origins: ReadonlyMap<string, ConfigOrigin>;
  /** Unknown names, bad values, duplicates, settings without effect: the process goes on. */
  readonly warnings: readonly ConfigProblem[];
  /** Non-empty: the process must not start its work with these values. */
  readonly errors: readonly ConfigProblem[];
}

/**
 * Reads every source and never throws. For each setting the strongest source wins by canonical name: environment, file,
 * layers in their order, default. An empty text counts as not set; `none` (any case) is the type's zero value.
 */
export function loadConfig<C extends object>(table: ConfigTable<C>, options: LoadConfigOptions<C>): LoadedConfig<C> {
  throw new Error(`Not yet: ${Object.keys(table).length}${options.prefix}`);
}
