import { HELP, optionText } from "./arguments.ts";
import type { Command } from "./command.ts";
import type { Output } from "./io.ts";

const WIDTH = 96;

/** The help of one command. */
export function commandHelp(command: Command, program: string, out: Output): string {
  const heading = (text: string): string => out.style("bold", text);
  const options = [...command.options, HELP];
  const width = Math.max(...options.map((option) => optionText(option).length)) + 4;
  return [
    ...command.usage.map((line, index) => `${index === 0 ? heading("Usage:") : "      "} ${program} ${line}`),
    "",
    ...command.description.flatMap((paragraph) => [...wrap(paragraph, 0), ""]),
    ...(command.sample === undefined ? [] : [...command.sample.map((line) => `  ${line}`), ""]),
    heading("Options:"),
    ...options.flatMap((option) => {
      const [first = "", ...rest] = wrap(option.doc, width);
      return [`  ${optionText(option)}`.padEnd(width) + first.trimStart(), ...rest];
    }),
    "",
    heading("Examples:"),
    ...command.examples.flatMap(({ what, line }) => [out.style("dim", `  # ${what}`), `  ${line}`]),
    "",
  ].join("\n");
}

/** The list of commands. */
export function programHelp(
  commands: readonly Pick<Command, "name" | "summary">[],
  program: string,
  out: Output,
): string {
  const width = Math.max(...commands.map((command) => command.name.length)) + 4;
  return [
    `${out.style("bold", "Usage:")} ${program} COMMAND [OPTIONS]`,
    "",
    "Checks, converts and explains network policy: Calico and Kubernetes resources in manifests.",
    "",
    out.style("bold", "Commands:"),
    ...commands.map((command) => `  ${command.name}`.padEnd(width) + command.summary),
    "",
    `${program} COMMAND --help explains a command and shows examples.`,
    "",
    out.style("bold", "Exit codes:"),
    "  0  done",
    "  1  the input is bad, or what was asked for does not exist; the reason is on standard error",
    "  2  the command line is wrong",
    "",
  ].join("\n");
}

function wrap(text: string, indent: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line !== "" && indent + line.length + 1 + word.length > WIDTH) {
      lines.push(" ".repeat(indent) + line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, " ".repeat(indent) + line];
}
