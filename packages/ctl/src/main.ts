import { hasCode, messageOf, nearestName } from "@bulrush/base";
import { parseArguments } from "./cli/arguments.ts";
import type { Command } from "./cli/command.ts";
import { commandHelp, programHelp } from "./cli/help.ts";
import type { CommandIo } from "./cli/io.ts";
import { COMMANDS, type CommandEntry } from "./commands/table.ts";
import { CtlError, usageError } from "./errors.ts";

const PROGRAM = "bulrushctl";

/**
 * Runs one command line (without the program's name) and resolves with the exit code. Errors of the user and of the
 * input go to standard error; anything else is a bug and is thrown.
 */
export async function main(argv: readonly string[], io: CommandIo): Promise<number> {
  try {
    const code = await dispatch(argv, io);
    await io.out.flush();
    await io.err.flush();
    return code;
  } catch (error) {
    if (hasCode(error, "CTL_OUTPUT_CLOSED")) return 0;
    if (!(error instanceof CtlError) && !isOperational(error)) throw error;
    await io.out.flush().catch(() => {});
    await io.err.write(`${io.err.style("red", "error:")} ${messageOf(error)}\n`);
    if (hasCode(error, "CTL_USAGE")) await io.err.write(`Try ${helpHint(argv)}\n`);
    await io.err.flush();
    return hasCode(error, "CTL_USAGE") ? 2 : failureCodeOf(argv[0]);
  }
}

async function dispatch(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === "help" || name === "-h" || name === "--help") {
    const wanted = name === "help" ? rest[0] : undefined;
    if (wanted !== undefined) return showHelp(await findCommand(wanted).load(), io);
    await io.out.write(programHelp(COMMANDS, PROGRAM, io.out));
    return 0;
  }
  const command = await findCommand(name).load();
  if (wantsHelp(rest)) return showHelp(command, io);
  return command.run(parseArguments(rest, command.options), io);
}

/** `--help` anywhere before `--`, also where the rest of the line is wrong. */
function wantsHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? undefined : end).some((word) => word === "--help" || word === "-h");
}

async function showHelp(command: Command, io: CommandIo): Promise<number> {
  await io.out.write(commandHelp(command, PROGRAM, io.out));
  return 0;
}

function findCommand(name: string): CommandEntry {
  const entry = COMMANDS.find((command) => command.name === name);
  if (entry !== undefined) return entry;
  const near = nearestName(
    name,
    COMMANDS.map((command) => command.name),
  );
  throw usageError(`Unknown command "${name}"${near === undefined ? "" : `; did you mean ${near}?`}`);
}

async function failureCodeOf(name: string | undefined): Promise<number> {
  const entry = COMMANDS.find((command) => command.name === name);
  return (await entry?.load())?.failureCode ?? 1;
}

function helpHint(argv: readonly string[]): string {
  const name = argv[0];
  return COMMANDS.some((command) => command.name === name) ? `${PROGRAM} ${name} --help` : `${PROGRAM} --help`;
}

/** Errors of the packages below that are about the input: they carry a code and are not assertions. */
function isOperational(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string" && !error.code.startsWith("ERR_");
}
