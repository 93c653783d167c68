import type { Arguments } from "./arguments.ts";
import type { CommandIo } from "./io.ts";

/** An option of a command. Options with `value` take one; the others are switches. */
export interface OptionSpec {
  /** Long name without dashes. */
  readonly name: string;
  /** One letter. */
  readonly short?: string;
  /** How the value is called in the help: "PATH". */
  readonly value?: string;
  readonly doc: string;
  /** May be given several times. Default: once, the last one counts. */
  readonly multiple?: boolean;
}

/** A line of the help's examples. */
interface Example {
  readonly line: string;
  readonly what: string;
}

/** A subcommand. Its help teaches: what it is for, each option, examples that can be pasted. */
export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Without the program's name: "validate -f PATH [-o FORMAT]". */
  readonly usage: readonly string[];
  /** Paragraphs. */
  readonly description: readonly string[];
  readonly options: readonly OptionSpec[];
  readonly examples: readonly Example[];
  /** Resolves with the exit code; throws CtlError for what the user did wrong. */
  run(args: Arguments, io: CommandIo): Promise<number>;
}
