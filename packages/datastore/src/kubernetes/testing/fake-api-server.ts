import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { JsonObject } from "@bulrush/model";
import {
  type Collection,
  COLLECTIONS,
  FakeObjects,
  rootOf,
  type StoredEvent,
  type StoredObject,
} from "./fake-objects.ts";
import { answerWrite } from "./fake-writes.ts";
import { SERVER_CERTIFICATE, SERVER_KEY } from "./server-certificate.ts";

/** A request as it came in. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string;
}

/** Takes a request in the server's place. Undefined: the server answers as always. */
export type Fault = (request: SeenRequest, answer: ServerResponse) => true | undefined;

interface OpenWatch {
  readonly root: string;
  readonly answer: ServerResponse;
  readonly isWanted: (object: StoredObject) => boolean;
}

/** A list that is being read in pages. */
interface Continuation {
  readonly objects: readonly StoredObject[];
  readonly revision: number;
  readonly from: number;
}

/**
 * An API server in this process, over HTTPS on 127.0.0.1: lists with pages, watches with history and bookmarks,
 * discovery, and every fault that a script asks for. It knows just what the driver may rely on, and its answers have
 * the shapes of a real one: the suite of `driver-compliance.ts` holds it to that.
 */
export class FakeApiServer {
  readonly objects: FakeObjects = new FakeObjects();
  /** All requests so far, oldest first. */
  readonly requests: SeenRequest[] = [];
  /** Asked in this order. */
  readonly faults: Fault[] = [];
  /** Lists that are there. Take some out: no such API. */
  readonly served: Map<string, Collection> = new Map(
    COLLECTIONS.map((collection) => [`${rootOf(collection.apiVersion)}/${collection.plural}`, collection] as const),
  );
  /** 403 for these lists, and verbs "list", "watch". */
  readonly forbidden: Set<string> = new Set();
  /** Of /version. From 32 on the server streams lists. */
  minor = "31";
  readonly #server: Server;
  readonly #watches = new Set<OpenWatch>();
  readonly #continuations = new Map<string, Continuation>();
  readonly #sockets = new Set<Socket>();

  constructor() {
    this.#server = createServer({ key: SERVER_KEY, cert: SERVER_CERTIFICATE }, (request, answer) => {
      this.#serve(request, answer);
    });
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.objects.onEvent((root, event) => {
      for (const watch of this.#watches)
        if (watch.root === root && watch.isWanted(event.object)) send(watch.answer, event.type, event.object);
    });
  }

  /** @param port Default: any free one. */
  async start(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** A kubeconfig for it. */
  kubeconfig(token = "a-token"): string {
    const ca = Buffer.from(SERVER_CERTIFICATE).toString("base64");
    return JSON.stringify({
      clusters: [{ name: "c", cluster: { server: this.url, "certificate-authority-data": ca } }],
      users: [{ name: "u", user: { token } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    });
  }

  /** Creates or replaces an object. */
  put(object: StoredObject): StoredObject {
    return this.objects.put(this.rootOf(object), object);
  }

  remove(object: Pick<StoredObject, "apiVersion" | "kind" | "metadata">): void {
    this.objects.remove(this.rootOf(object), object.metadata.namespace, object.metadata.name);
  }

  /** The path of an object's list. */
  rootOf({ apiVersion, kind }: Pick<StoredObject, "apiVersion" | "kind">): string {
    for (const [root, collection] of this.served)
      if (collection.apiVersion === apiVersion && collection.kind === kind) return root;
    throw new Error(`Not served: ${apiVersion} ${kind}`);
  }

  /** How many watches of a list are open. */
  watchesOf(root: string): number {
    return [...this.#watches].filter((watch) => watch.root === root).length;
  }

  /** Nothing changed: tells the watches of a list up to where. */
  bookmark(root: string): void {
    for (const watch of this.#watches) if (watch.root === root) sendBookmark(watch.answer, this.objects.revision);
  }

  /** Ends the watches of a list as a server does in the end. */
  endWatches(root: string): void {
    for (const watch of this.#watches) if (watch.root === root) watch.answer.end();
  }

  /** Anything, to the watches of a list. */
  sendToWatches(root: string, bytes: string | Buffer): void {
    for (const watch of this.#watches) if (watch.root === root) watch.answer.write(bytes);
  }

  /** What the readers of a list's watches have not taken yet. */
  unsentBytes(root: string): number {
    let bytes = 0;
    for (const watch of this.#watches) if (watch.root === root) bytes += watch.answer.writableLength;
    return bytes;
  }

  /** The watches of a list stay open, and never hear anything again. */
  blackHole(root: string): void {
    for (const watch of this.#watches) if (watch.root === root) this.#watches.delete(watch);
  }

  /** Resets every connection. */
  resetConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #serve(request: IncomingMessage, answer: ServerResponse): void {
    const url = new URL(request.url ?? "", this.url);
    const seen: SeenRequest = {
      method: request.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      authorization: request.headers.authorization ?? "",
    };
    this.requests.push(seen);
    for (const fault of this.faults) if (fault(seen, answer) === true) return;
    if (seen.method !== "GET") void this.#write(seen, request, answer);
    else if (seen.path === "/version") json(answer, { major: "1", minor: this.minor });
    else if (seen.path === "/apis") json(answer, { kind: "APIGroupList", groups: this.#groups() });
    else if (!this.#discover(seen.path, answer) && !this.#get(seen.path, answer)) this.#list(seen, answer);
  }

  /** The list and the object that a path means. */
  #objectAt(path: string): { collection: Collection; root: string; namespace?: string; name: string } | undefined {
    const [, parent = "", name = ""] = /^(.*)\/([^/]+)$/.exec(path) ?? [];
    const [root, namespace] = placeOf(parent);
    const collection = this.served.get(root);
    return collection && { collection, root, name, ...(namespace !== undefined && { namespace }) };
  }

  #get(path: string, answer: ServerResponse): boolean {
    const at = this.#objectAt(path);
    if (at === undefined || this.served.has(placeOf(path)[0])) return false;
    const found = this.objects
      .list(at.root)
      .find(({ metadata }) => metadata.name === at.name && metadata.namespace === at.namespace);
    if (found === undefined) status(answer, 404, "NotFound", `${at.collection.plural} "${at.name}" not found`);
    else json(answer, found);
    return true;
  }

  async #write({ method, path }: SeenRequest, request: IncomingMessage, answer: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk as string;
    const isStatus = path.endsWith("/status");
    const ofObject = isStatus ? path.slice(0, -"/status".length) : path;
    const at = method === "POST" ? this.#objectAt(`${path}/-`) : this.#objectAt(ofObject);
    if (at === undefined) {
      answer.writeHead(404, { "content-type": "text/plain" }).end("404 page not found\n");
      return;
    }
    const { code, reason, body } = answerWrite(this.objects, {
      ...at,
      namespace: at.namespace,
      method,
      name: method === "POST" ? undefined : at.name,
      isStatus,
      body: JSON.parse(text) as JsonObject,
    });
    if (reason === undefined) json(answer, body, code);
    else status(answer, code, reason, String(body));
  }

  #groups(): readonly unknown[] {
    const names = new Set([...this.served.values()].map(({ apiVersion }) => apiVersion.split("/")[0]));
    return [...names].filter((name) => name !== "v1").map((name) => ({ name }));
  }

  #discover(path: string, answer: ServerResponse): boolean {
    const group = [...this.served.values()].filter(({ apiVersion }) => rootOf(apiVersion) === path);
    if (group.length === 0) return false;
    const resources = group.map(({ plural, kind, namespaced }) => ({ name: plural, kind, namespaced }));
    json(answer, { kind: "APIResourceList", resources });
    return true;
  }

  #list(request: SeenRequest, answer: ServerResponse): void {
    const [root, namespace] = placeOf(request.path);
    const collection = this.served.get(root);
    if (collection === undefined) {
      // What no API claims is answered in plain text.
      answer.writeHead(404, { "content-type": "text/plain" }).end("404 page not found\n");
      return;
    }
    const { query } = request;
    const verb = query.get("watch") === "true" ? "watch" : "list";
    if (this.forbidden.has(root) || this.forbidden.has(`${verb} ${root}`)) {
      const message = `${collection.plural} is forbidden: User "u" cannot ${verb} resource "${collection.plural}"`;
      status(answer, 403, "Forbidden", message);
      return;
    }
    const name = /^metadata\.name=(.*)$/.exec(query.get("fieldSelector") ?? "")?.[1];
    const isWanted = ({ metadata }: StoredObject): boolean =>
      (name === undefined || metadata.name === name) && (namespace === undefined || metadata.namespace === namespace);
    const revision = Number(query.get("resourceVersion") ?? "0");
    if (revision > this.objects.revision) {
      const details = { causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }] };
      const message = `Timeout: Too large resource version: ${revision}, current: ${this.objects.revision}`;
      status(answer, 504, "Timeout", message, details);
    } else if (verb === "watch") this.#watch(root, query, revision, isWanted, answer);
    else this.#page(collection, root, query, isWanted, answer);
  }

  #page(
    { apiVersion, kind }: Collection,
    root: string,
    query: URLSearchParams,
    isWanted: (object: StoredObject) => boolean,
    answer: ServerResponse,
  ): void {
    const token = query.get("continue") ?? "";
    let list: Continuation = {
      objects: this.objects.list(root).filter(isWanted),
      revision: this.objects.revision,
      from: 0,
    };
    if (token !== "") {
      const known = this.#continuations.get(token);
      if (known === undefined || this.objects.eventsAfter(root, known.revision) === undefined) {
        const message = "The provided continue parameter is too old to display a consistent list result.";
        status(answer, 410, "Expired", message);
        return;
      }
      list = known;
    }
    // A list from the server's memory is not cut into pages.
    const isWhole = query.get("resourceVersion") === "0" || !query.has("limit");
    const end = isWhole ? list.objects.length : list.from + Number(query.get("limit"));
    const items = list.objects.slice(list.from, end);
    const metadata: Record<string, string> = { resourceVersion: String(list.revision) };
    if (end < list.objects.length) {
      metadata["continue"] = `${root}@${list.revision}+${end}`;
      this.#continuations.set(metadata["continue"], { ...list, from: end });
    }
    // Objects of native kinds do not say their kind; those of CRDs do, and their lists have their fields in order of name.
    const isNative = !apiVersion.includes("calico");
    json(
      answer,
      isNative
        ? {
            kind: `${kind}List`,
            apiVersion,
            metadata,
            items: items.map(withoutKind),
          }
        : { apiVersion, items, kind: `${kind}List`, metadata },
    );
  }

  #watch(
    root: string,
    query: URLSearchParams,
    revision: number,
    isWanted: (object: StoredObject) => boolean,
    answer: ServerResponse,
  ): void {
    const isList = query.get("sendInitialEvents") === "true";
    if (isList && Number(this.minor) < 32) {
      status(answer, 422, "Invalid", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch");
      return;
    }
    const missed: readonly StoredEvent[] | undefined = isList ? [] : this.objects.eventsAfter(root, revision);
    answer.writeHead(200, { "content-type": "application/json" });
    answer.flushHeaders();
    if (missed === undefined) {
      const object = {
        kind: "Status",
        status: "Failure",
        code: 410,
        reason: "Expired",
        message: "too old resource version",
      };
      answer.end(`${JSON.stringify({ type: "ERROR", object })}\n`);
      return;
    }
    if (isList) {
      for (const object of this.objects.list(root).filter(isWanted)) send(answer, "ADDED", object);
      sendBookmark(answer, this.objects.revision, { "k8s.io/initial-events-end": "true" });
    }
    for (const event of missed) if (isWanted(event.object)) send(answer, event.type, event.object);
    const watch: OpenWatch = { root, answer, isWanted };
    this.#watches.add(watch);
    answer.on("close", () => this.#watches.delete(watch));
  }
}

function withoutKind(object: StoredObject): unknown {
  const { apiVersion: _, kind: __, ...rest } = object;
  return rest;
}

/** The path of the list, and the namespace that is asked for. */
function placeOf(path: string): readonly [root: string, namespace: string | undefined] {
  const match = /^(.*)\/namespaces\/([^/]+)\/([^/]+)$/.exec(path);
  return match === null ? [path, undefined] : [`${match[1] ?? ""}/${match[3] ?? ""}`, match[2]];
}

function json(answer: ServerResponse, body: unknown, code = 200): void {
  answer.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** A meta/v1 `Status` that says what is wrong. */
export function status(
  answer: ServerResponse,
  code: number,
  reason: string,
  message: string,
  details: unknown = {},
  headers: Readonly<Record<string, string>> = {},
): void {
  for (const [name, value] of Object.entries(headers)) answer.setHeader(name, value);
  json(answer, { kind: "Status", apiVersion: "v1", status: "Failure", message, reason, details, code }, code);
}

function send(answer: ServerResponse, type: string, object: unknown): void {
  answer.write(`${JSON.stringify({ type, object })}\n`);
}

function sendBookmark(answer: ServerResponse, revision: number, annotations?: unknown): void {
  const metadata = { resourceVersion: String(revision), creationTimestamp: null, annotations };
  send(answer, "BOOKMARK", { kind: "Anything", apiVersion: "v1", metadata });
}
