/** What a type may ask of its surroundings while it parses. */
export interface ParseContext {
  /** True when the path can be stat'ed. */
  fileExists(path: string): boolean;
}

/** The value, or what is wrong with the text (the tail of a sentence: "is not a number"). */
export type ParseResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

/** How the text of a setting becomes a value. `parse` never throws and never sees an empty text or `none`. */
export interface ParameterType<T> {
  /** For the reference: "integer, 0 to 65535". */
  readonly label: string;
  /** What the text `none` means. */
  readonly zero: T;
  /** The text `none` is one of the type's own words and is parsed like any other. Default false. */
  readonly acceptsNone?: boolean;
  parse(text: string, context: ParseContext): ParseResult<T>;
  /** The value as the user would write it: for the reference and the log. */
  format(value: T): string;
}

/** One setting. Its name is its key in the table, in the canonical spelling of the reference ("HealthPort"). */
export interface Parameter<T> {
  readonly type: ParameterType<T>;
  /** A value, already parsed. */
  readonly default: T;
  /** How the reference shows the default, where it differs from machine to machine: "the host's name". */
  readonly defaultDoc?: string;
  /** What it does, in a sentence or two of Markdown. */
  readonly doc: string;
  /** A bad value is an error of the whole configuration; without it, a warning and the default. */
  readonly dieOnFail?: boolean;
  /** `none` is refused, as an error. */
  readonly nonZero?: boolean;
  /** Ignored when it comes from a datastore layer. */
  readonly local?: boolean;
  /** Set when the setting is only accepted: the reason, the tail of "accepted, no effect, because ...". */
  readonly noEffect?: string;
}

/** All settings of a process: each name of C once. */
export type ConfigTable<C> = { readonly [K in keyof C]-?: Parameter<C[K]> };

/** Gives a table its type: every field of C must be there, with a default of its type. */
export function defineConfig<C>(table: ConfigTable<C>): ConfigTable<C> {
  return table;
}
