import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { type Clock, messageOf } from "@bulrush/base";
import { type EndpointSliceResource, isObject } from "@bulrush/model";
import type { SliceEvent, SliceFeed } from "./service-servers.ts";

/** How a pod reaches the API server, and which Service it looks for. */
export interface InClusterOptions {
  /** KUBERNETES_SERVICE_HOST and _PORT, which every pod has. */
  readonly host: string;
  readonly port: string;
  /** Where `token` and `ca.crt` are; both are read anew for each request. Default: where a pod has them. */
  readonly directory?: string;
  readonly namespace: string;
  readonly serviceName: string;
  readonly clock: Clock;
}

const DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount";
/** The server ends a watch after this, and a new list follows: nothing is missed for longer. */
const WATCH_SECONDS = 300;
/** A watch that is silent for longer is dead: the server would have ended it. */
const SILENCE_MS = (WATCH_SECONDS + 30) * 1000;
/** A list, or a line of a watch. */
const MAX_BYTES = 8 * 1024 * 1024;

/**
 * The EndpointSlices of one Service by the API server of the pod's own cluster, with the pod's own account: over
 * `node:https`, as a client library of Kubernetes would cost an agent more memory than all the rest.
 */
export function inClusterSlices(options: InClusterOptions): SliceFeed {
  return {
    async list(signal) {
      const answer = await open(options, {}, signal);
      let text = "";
      for await (const piece of textOf(answer)) if ((text += piece).length > MAX_BYTES) throw tooLong();
      const list = JSON.parse(text) as { readonly items?: unknown; readonly metadata?: { resourceVersion?: string } };
      const slices = (Array.isArray(list.items) ? list.items : []).filter(isSlice);
      return { slices, revision: list.metadata?.resourceVersion ?? "" };
    },
    async *watch(revision, signal) {
      const query = {
        watch: "1",
        resourceVersion: revision,
        allowWatchBookmarks: "true",
        timeoutSeconds: String(WATCH_SECONDS),
      };
      const answer = await open(options, query, signal);
      for await (const line of linesOf(answer, options.clock)) {
        const event = toSliceEvent(JSON.parse(line));
        if (event !== undefined) yield [event];
      }
    },
  };
}

async function open(
  { host, port, directory = DIRECTORY, namespace, serviceName }: InClusterOptions,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const [token, ca] = await Promise.all([
    readFile(join(directory, "token"), "utf8"),
    readFile(join(directory, "ca.crt")),
  ]);
  const parameters = new URLSearchParams({ labelSelector: `kubernetes.io/service-name=${serviceName}`, ...query });
  const path = `/apis/discovery.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/endpointslices?${parameters.toString()}`;
  const headers = { authorization: `Bearer ${token.trim()}`, accept: "application/json", "user-agent": "bulrush" };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request({ host, port, path, headers, ca, agent: false, signal });
    sent.on("socket", (socket) => socket.setKeepAlive(true, 15_000));
    sent.on("response", resolve);
    sent.on("error", reject);
    sent.end();
  });
  if (answer.statusCode === 200) return answer;
  let text = "";
  for await (const piece of textOf(answer)) if (text.length < 2000) text += piece;
  throw new Error(`The API server answers ${answer.statusCode ?? 0}: ${reasonOf(text)}`);
}

/** What a Status says, else the text. */
function reasonOf(text: string): string {
  try {
    const status: unknown = JSON.parse(text);
    return isObject(status) && typeof status["message"] === "string" ? status["message"] : text;
  } catch {
    return text;
  }
}

function textOf(answer: IncomingMessage): AsyncIterable<string> {
  return answer.setEncoding("utf8") as AsyncIterable<string>;
}

async function* linesOf(answer: IncomingMessage, clock: Clock): AsyncGenerator<string, void, void> {
  let rest = "";
  const silent = (): void => void answer.destroy(new Error(`The watch was silent for ${SILENCE_MS / 1000} s`));
  let cancel = clock.after(SILENCE_MS, silent);
  try {
    for await (const piece of textOf(answer)) {
      cancel();
      cancel = clock.after(SILENCE_MS, silent);
      const lines = (rest + piece).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > MAX_BYTES) throw tooLong();
      for (const line of lines) if (line.trim() !== "") yield line;
    }
  } finally {
    cancel();
    answer.destroy();
  }
}

/** undefined: nothing changed. Throws where only a new list helps. */
function toSliceEvent(event: unknown): SliceEvent | undefined {
  const { type, object } = isObject(event) ? event : {};
  if (type === "BOOKMARK") return undefined;
  if (!isSlice(object)) throw new Error(`The watch ended: ${messageOf(isObject(object) ? object["message"] : object)}`);
  return type === "DELETED" ? { type: "deleted", name: object.metadata.name } : { type: "set", slice: object };
}

/** As far as it is looked at; what is below is looked at with care. */
function isSlice(value: unknown): value is EndpointSliceResource {
  if (!isObject(value) || !isObject(value["metadata"]) || typeof value["metadata"]["name"] !== "string") return false;
  const isList = (field: unknown): boolean => field === undefined || (Array.isArray(field) && field.every(isObject));
  return isList(value["endpoints"]) && isList(value["ports"]);
}

function tooLong(): Error {
  return new Error("The API server's answer is too long for EndpointSlices");
}
