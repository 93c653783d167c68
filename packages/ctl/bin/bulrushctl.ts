#!/usr/bin/env -S node --conditions=bulrush-source
import { main } from "../src/main.ts";
import { streamOutput, wantsColours } from "../src/cli/stream-output.ts";

const output = (stream: NodeJS.WriteStream): ReturnType<typeof streamOutput> => {
  const terminal = stream.isTTY === true;
  return streamOutput(stream, { terminal, colours: wantsColours(terminal, process.env) });
};

process.exitCode = await main(process.argv.slice(2), {
  out: output(process.stdout),
  err: output(process.stderr),
  stdin: process.stdin,
  env: process.env,
});
