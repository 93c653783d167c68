import { Readable } from "node:stream";
import { main, type Output } from "@bulrush/ctl";

export interface CtlResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `bulrushctl ARGS` in this process, with these settings only. */
export async function runCtl(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  input = "",
): Promise<CtlResult> {
  const written = { out: "", err: "" };
  const output = (name: "out" | "err"): Output => ({
    write: (text) => {
      written[name] += text;
      return Promise.resolve();
    },
    flush: () => Promise.resolve(),
    terminal: false,
    style: (_style, text) => text,
  });
  const stdin = Readable.from(input === "" ? [] : [Buffer.from(input)]);
  const code = await main(args, { out: output("out"), err: output("err"), stdin, env });
  return { code, ...written };
}
