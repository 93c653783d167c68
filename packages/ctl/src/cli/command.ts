import type { Arguments } from "./arguments.ts";
import type { CommandIo } from "./io.ts";
import type { OptionSpec } from "./option.ts";

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
  /** Lines of a file that the command reads, printed as they are behind the description. */
  readonly sample?: readonly string[];
  readonly options: readonly OptionSpec[];
  readonly examples: readonly Example[];
  /** Exit code when the input is bad. Default: 1; a command whose 1 is an answer has 2. */
  readonly failureCode?: number;
  /** Resolves with the exit code; throws CtlError for what the user did wrong. */
  run(args: Arguments, io: CommandIo): Promise<number>;
}
