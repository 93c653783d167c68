import assert from "node:assert/strict";
import { test } from "node:test";
import { parseArguments } from "./arguments.ts";
import type { OptionSpec } from "./option.ts";

const SPECS: readonly OptionSpec[] = [
  { name: "file", short: "f", value: "PATH", doc: "" },
  { name: "labels", value: "L", doc: "", multiple: true },
  { name: "stream", doc: "" },
];

const rows: readonly [
  title: string,
  argv: string[],
  file: string | undefined,
  labels: string[],
  stream: boolean,
  rest: string[],
][] = [
  ["nothing", [], undefined, [], false, []],
  ["long options", ["--file", "x", "--stream"], "x", [], true, []],
  ["an equals sign", ["--file=a=b"], "a=b", [], false, []],
  ["short options", ["-f", "x"], "x", [], false, []],
  ["a short option with its value attached", ["-fx"], "x", [], false, []],
  ["standard input", ["-f", "-", "-"], "-", [], false, ["-"]],
  [
    "options between positionals",
    ["match", "--labels", "a=b", "expr", "--labels", "c=d"],
    undefined,
    ["a=b", "c=d"],
    false,
    ["match", "expr"],
  ],
  ["the last of two", ["-f", "a", "-f", "b"], "b", [], false, []],
  ["what follows --", ["--", "--file", "-f"], undefined, [], false, ["--file", "-f"]],
  ["a value that looks like an option", ["--file", "--stream"], "--stream", [], false, []],
  ["an empty value", ["--file="], "", [], false, []],
];
for (const [title, argv, file, labels, stream, rest] of rows) {
  test(`parseArguments() reads ${title}`, () => {
    const args = parseArguments(argv, SPECS);
    assert.deepEqual(
      [args.get("file"), args.all("labels"), args.has("stream"), args.positionals],
      [file, labels, stream, rest],
    );
  });
}

const bad: readonly [argv: string[], message: RegExp][] = [
  [["--flie", "x"], /^Unknown option --flie; did you mean --file\?$/],
  [["-x"], /^Unknown option -x$/],
  [["--file"], /^--file needs a value: PATH$/],
  [["-f"], /^-f needs a value: PATH$/],
  [["--stream=yes"], /^--stream takes no value$/],
];
for (const [argv, message] of bad) {
  test(`parseArguments() refuses ${argv.join(" ")}`, () => {
    assert.throws(() => parseArguments(argv, SPECS), { code: "CTL_USAGE", message });
  });
}

test("need() names the option that is missing", () => {
  assert.throws(() => parseArguments([], SPECS).need("file"), {
    code: "CTL_USAGE",
    message: "-f, --file PATH is needed",
  });
});
