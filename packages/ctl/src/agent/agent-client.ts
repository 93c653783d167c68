import { request, type IncomingMessage } from "node:http";
import { messageOf } from "@bulrush/base";
import type { Arguments } from "../cli/arguments.ts";
import type { OptionSpec } from "../cli/option.ts";
import { inputError } from "../errors.ts";

const DEFAULT_SOCKET = "/var/run/calico/bulrush-agent.sock";
const TIMEOUT_MS = 60_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export const SOCKET_OPTION: OptionSpec = {
  name: "socket",
  value: "PATH",
  doc: `Admin socket of the agent of this host (its setting AdminSocketPath). Default: ${DEFAULT_SOCKET}.`,
};

/** One JSON value from the agent of this host. Throws CTL_INPUT, naming the socket, where there is no good answer. */
export async function askAgent<T>(args: Arguments, path: string): Promise<T> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  return during(args, path, async (answer) => {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      pieces.push(piece);
      if ((bytes += piece.length) > MAX_ANSWER_BYTES) throw new Error("the answer is too long");
    }
    return JSON.parse(Buffer.concat(pieces).toString("utf8")) as T;
  });
}

/** JSON values, one a line, as they come; resolves when the agent ends them. Throws as {@link askAgent}. */
export async function followAgent<T>(
  args: Arguments,
  path: string,
  onValue: (value: T) => Promise<void>,
): Promise<void> {
  await during(args, path, async (answer) => {
    let rest = "";
    for await (const piece of answer.setEncoding("utf8") as AsyncIterable<string>) {
      const lines = (rest + piece).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > MAX_ANSWER_BYTES) throw new Error("a line is too long");
      for (const line of lines) await onValue(JSON.parse(line) as T);
    }
  });
}

async function during<T>(args: Arguments, path: string, read: (answer: IncomingMessage) => Promise<T>): Promise<T> {
  const socketPath = args.get("socket") ?? DEFAULT_SOCKET;
  let answer: IncomingMessage;
  try {
    answer = await open(socketPath, path);
    if (answer.statusCode !== 200) throw new Error(await refusalOf(answer));
  } catch (error) {
    throw inputError(`Ask the agent at ${socketPath}: ${messageOf(error)}${hintOf(error)}`, error);
  }
  return read(answer);
}

/** What is behind the two errors that everybody meets. */
function hintOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT" || code === "ECONNREFUSED")
    return ". No agent listens there: run this on a host of an agent, in its pod (kubectl exec) or with --socket";
  return code === "EACCES" ? ". Only root may ask" : "";
}

function open(socketPath: string, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, path, agent: false });
    const timer = setTimeout(() => call.destroy(new Error(`no answer in ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
    call.on("response", (answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
    call.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    call.end();
  });
}

async function refusalOf(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of answer.setEncoding("utf8") as AsyncIterable<string>) text = (text + piece).slice(0, 500);
  return text.trim();
}
