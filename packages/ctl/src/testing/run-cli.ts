import { execFile } from "node:child_process";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { streamOutput } from "../cli/stream-output.ts";
import { main } from "../main.ts";

/** The program's own file. */
export const BIN: string = join(import.meta.dirname, "../../bin/bulrushctl.ts");
/** Where the manifests of the tests lie. */
export const TESTDATA: string = join(import.meta.dirname, "../../testdata");

export interface CliResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line in this process, with this standard input: all but the file in bin/. */
export async function runCli(
  argv: readonly string[],
  input = "",
  env: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  const written = { out: "", err: "" };
  const output = (name: "out" | "err") => {
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        written[name] += chunk.toString();
        done();
      },
    });
    return streamOutput(sink, { terminal: false, colours: false });
  };
  const stdin = Readable.from(input === "" ? [] : [Buffer.from(input)]);
  const code = await main(argv, { out: output("out"), err: output("err"), stdin, env });
  return { code, ...written };
}

/** Runs the program as a user does. */
export function spawnCli(
  argv: readonly string[],
  input = "",
  env: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ["--conditions=bulrush-source", BIN, ...argv],
      { env: { PATH: process.env["PATH"], NO_COLOR: "1", ...env }, maxBuffer: 64 * 1024 * 1024 },
      (error, out, err) =>
        resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, out, err }),
    );
    // The program may end before it has read all.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
  });
}
