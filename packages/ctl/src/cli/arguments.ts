import { nearestName } from "@bulrush/base";
import { usageError } from "../errors.ts";
import type { OptionSpec } from "./option.ts";

/** What stands on the command line after the subcommand. */
export interface Arguments {
  readonly positionals: readonly string[];
  /** True when the switch was given. */
  has(name: string): boolean;
  /** The option's value (the last one), or undefined. */
  get(name: string): string | undefined;
  /** All values of the option in order. */
  all(name: string): readonly string[];
  /** The option's value; throws CTL_USAGE when it was not given. */
  need(name: string): string;
}

export const HELP: OptionSpec = { name: "help", short: "h", doc: "Show this help." };

/**
 * Reads `--name value`, `--name=value`, `-n value`, `-nvalue` and switches, in any place; `--` ends the options and `-`
 * alone is no option. Throws CTL_USAGE with the nearest option for what it does not know.
 */
export function parseArguments(argv: readonly string[], specs: readonly OptionSpec[]): Arguments {
  const known = [...specs, HELP];
  const values = new Map<string, string[]>();
  const positionals: string[] = [];
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? "";
    if (word === "--") {
      positionals.push(...argv.slice(index + 1));
      break;
    }
    if (word === "-" || !word.startsWith("-")) {
      positionals.push(word);
      continue;
    }
    const { spec, inline, shown } = word.startsWith("--") ? longOption(word, known) : shortOption(word, known);
    let value = "";
    if (spec.value !== undefined) {
      const next = inline ?? argv[++index];
      if (next === undefined) throw usageError(`${shown} needs a value: ${spec.value}`);
      value = next;
    } else if (inline !== undefined) {
      throw usageError(`${shown} takes no value`);
    }
    const list = values.get(spec.name);
    if (list === undefined) values.set(spec.name, [value]);
    else list.push(value);
  }
  return {
    positionals,
    has: (name) => values.has(name),
    get: (name) => values.get(name)?.at(-1),
    all: (name) => values.get(name) ?? [],
    need(name) {
      const value = values.get(name)?.at(-1);
      if (value !== undefined) return value;
      const spec = known.find((option) => option.name === name);
      throw usageError(`${spec === undefined ? `--${name}` : optionText(spec)} is needed`);
    },
  };
}

interface Found {
  readonly spec: OptionSpec;
  readonly inline: string | undefined;
  readonly shown: string;
}

function longOption(word: string, known: readonly OptionSpec[]): Found {
  const at = word.indexOf("=");
  const name = word.slice(2, at < 0 ? undefined : at);
  const spec = known.find((option) => option.name === name);
  if (spec === undefined) {
    const near = nearestName(
      name,
      known.map((option) => option.name),
    );
    throw usageError(`Unknown option --${name}${near === undefined ? "" : `; did you mean --${near}?`}`);
  }
  return { spec, inline: at < 0 ? undefined : word.slice(at + 1), shown: `--${name}` };
}

function shortOption(word: string, known: readonly OptionSpec[]): Found {
  const letter = word.slice(1, 2);
  const spec = known.find((option) => option.short === letter);
  if (spec === undefined) throw usageError(`Unknown option -${letter}`);
  const rest = word.slice(2).replace(/^=/, "");
  return { spec, inline: word.length > 2 ? rest : undefined, shown: `-${letter}` };
}

/** "-f, --file PATH". */
export function optionText(spec: OptionSpec): string {
  const value = spec.value === undefined ? "" : ` ${spec.value}`;
  return `${spec.short === undefined ? "" : `-${spec.short}, `}--${spec.name}${value}`;
}
