import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import { messageOf } from "@bulrush/base";
import { type TLSMaterial, tlsFromParameters, tlsOptions } from "@bulrush/sync-client";
import type { Arguments } from "../cli/arguments.ts";
import type { CommandIo } from "../cli/io.ts";
import type { OptionSpec } from "../cli/option.ts";
import { inputError, usageError } from "../errors.ts";
import { TLS_OPTIONS, tlsParameters } from "../tls/tls-options.ts";

/** Where the admin APIs are, and how they are reached. */
export const ADMIN_OPTIONS: readonly OptionSpec[] = [
  {
    name: "admin",
    value: "URL",
    doc: "Admin API of a Typha; several times for several Typhas. Default: http://localhost:9097. https needs the TLS options.",
    multiple: true,
  },
  ...TLS_OPTIONS,
];

const DEFAULT_URL = "http://localhost:9097";
const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/** The admin API of one Typha. Everything throws CTL_INPUT, naming the URL, where there is no good answer. */
export interface AdminClient {
  readonly url: string;
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: unknown): Promise<T>;
}

export async function adminClients(args: Arguments, io: CommandIo): Promise<readonly AdminClient[]> {
  const urls = args.all("admin").length === 0 ? [DEFAULT_URL] : args.all("admin");
  const tls = urls.some((url) => url.startsWith("https:"))
    ? await tlsFromParameters(tlsParameters(args, io))?.()
    : undefined;
  return urls.map((url) => adminClient(url, tls));
}

function adminClient(text: string, tls: TLSMaterial | undefined): AdminClient {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) throw usageError(`--admin ${text} is not an http(s) URL`);
  const url = text.replace(/\/+$/, "");
  if (url.startsWith("https:") && tls === undefined)
    throw usageError(`${url} needs --ca-file, --cert-file and --key-file`);
  const call = async (method: "GET" | "POST", path: string, body: unknown): Promise<unknown> => {
    try {
      return JSON.parse(await send(`${url}${path}`, method, body, tls)) as unknown;
    } catch (error) {
      const isNobody = error instanceof Error && "code" in error && error.code === "ECONNREFUSED";
      const hint = isNobody
        ? ". No Typha listens there: name one with --admin, or run kubectl -n kube-system port-forward deployment/calico-typha 9097"
        : "";
      throw inputError(`${method} ${url}${path}: ${messageOf(error)}${hint}`, error);
    }
  };
  return {
    url,
    get: async <T>(path: string) => (await call("GET", path, undefined)) as T,
    post: async <T>(path: string, body: unknown) => (await call("POST", path, body)) as T,
  };
}

async function send(url: string, method: string, body: unknown, tls: TLSMaterial | undefined): Promise<string> {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const options: RequestOptions = {
    method,
    agent: false,
    timeout: TIMEOUT_MS,
    headers:
      payload === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(payload) },
  };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const request =
      tls === undefined ? httpRequest(url, options) : httpsRequest(url, { ...options, ...tlsOptions(tls) });
    request.on("timeout", () => request.destroy(new Error(`no answer in ${TIMEOUT_MS / 1000} s`)));
    request.on("response", resolve);
    request.on("error", reject);
    request.end(payload);
  });
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    pieces.push(piece);
    if ((bytes += piece.length) > MAX_ANSWER_BYTES) throw new Error("the answer is too long");
  }
  const text = Buffer.concat(pieces).toString("utf8");
  if (answer.statusCode !== 200) throw new Error(`HTTP ${answer.statusCode ?? 0}: ${text.slice(0, 500)}`);
  return text;
}
