import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";

/** One step of a transcript: what was asked, and what was answered. */
interface TranscriptStep {
  /** Comments and blank lines before the command, kept as they are. */
  readonly prose: string;
  /** First word of the command. */
  readonly command: string;
  readonly args: readonly string[];
  readonly expected: string;
}

/**
 * Runs a golden transcript: blocks of a command line, a line `----` and the output up to the next blank line. Lines
 * that start with `#` are prose. With REWRITE=1 in the environment the file is written anew instead of compared; the
 * diff is then reviewed by a person.
 */
export async function runTranscript(
  file: URL,
  run: (command: string, args: readonly string[]) => string | Promise<string>,
): Promise<void> {
  const steps = parseTranscript(readFileSync(file, "utf8"));
  assert.ok(steps.length > 0, `No command in ${file.pathname}`);
  const rewritten: string[] = [];
  for (const step of steps) {
    const line = [step.command, ...step.args].join(" ");
    const output = (await run(step.command, step.args)).trimEnd();
    rewritten.push(`${step.prose}${line}\n----\n${output}\n`);
    if (process.env["REWRITE"] !== "1") assert.equal(output, step.expected, `after "${line}" in ${file.pathname}`);
  }
  if (process.env["REWRITE"] === "1") writeFileSync(file, rewritten.join("\n"));
}

function parseTranscript(text: string): TranscriptStep[] {
  const steps: TranscriptStep[] = [];
  const lines = text.split("\n");
  let prose = "";
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    if (line.startsWith("#")) {
      prose += `${line}\n`;
      if (lines[i + 1] === "") prose += "\n";
      continue;
    }
    if (line.trim() === "") continue;
    const [command = "", ...args] = line.trim().split(/\s+/);
    const output: string[] = [];
    assert.equal(lines[++i], "----", `Line ${i + 1}: expected "----" after "${line}"`);
    while (i + 1 < lines.length && (lines[i + 1] ?? "").trim() !== "") output.push(lines[++i] ?? "");
    steps.push({ prose, command, args, expected: output.join("\n").trimEnd() });
    prose = "";
  }
  return steps;
}
