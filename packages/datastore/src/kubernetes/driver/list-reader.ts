import { datastoreCodeOf, DatastoreError } from "../../errors.ts";
import type { DatastoreLogger } from "../../logger.ts";
import type { Discovery } from "../client/discovery.ts";
import type { KubeClient } from "../client/kube-client.ts";
import { listSource, opOf, type RawPage, type SourceListRequest } from "./list-source.ts";
import { pathOf, type Selection } from "./source.ts";
import { NoListStream, streamSource } from "./stream-source.ts";

export interface ListReadRequest extends Omit<SourceListRequest, "isPaged" | "needs"> {
  readonly selection: Selection;
}

export interface ListReaderOptions {
  readonly client: KubeClient;
  readonly discovery: Discovery;
  readonly logger: DatastoreLogger | undefined;
  /** False: never as streams. */
  readonly mayStream: boolean;
}

/**
 * Reads one list of the API server in the way that costs least.
 *
 *     known to be missing ─ the server still does not have it ────────────────────────────> DATASTORE_NOT_FOUND
 *          │ no                                                                                     ^
 *          v                                                                                        │
 *     as a stream, where the server has them ─ refused, or no end ─┐                 404, and the server says so too
 *          │                                                       v                                │
 *          └──────────────> complete <─────────────────────── in pages ─────────────────────────────┘
 *                                                    in one answer, after a state was forgotten between two pages
 *
 * A list that fails after its first page fails as a whole: what has been given out may have been deleted by the time
 * that another way begins. The next try goes that other way.
 *
 * Invariant: a path is in `#unpaged` or `#unstreamed` only between such a failure and the next complete list.
 */
export class ListReader {
  readonly #options: ListReaderOptions;
  readonly #missing = new Set<string>();
  readonly #unpaged = new Set<string>();
  readonly #unstreamed = new Set<string>();
  /** The server has refused to stream. */
  #isStreamless = false;

  constructor(options: ListReaderOptions) {
    this.#options = options;
  }

  /** Pages of all objects of the selection; the last one has the revision. */
  async *read(request: ListReadRequest): AsyncGenerator<RawPage, void, undefined> {
    const { selection, signal } = request;
    const path = pathOf(selection.source);
    await this.#checkMissing(selection, path, signal);
    let pages = 0;
    try {
      for await (const page of this.#stream(request, path)) {
        pages++;
        yield page;
      }
      this.#unpaged.delete(path);
      this.#unstreamed.delete(path);
    } catch (error) {
      if (signal.aborted) throw error;
      throw await this.#failure(error, selection, path, pages > 0, signal);
    }
  }

  async *#stream(request: ListReadRequest, path: string): AsyncGenerator<RawPage, void, undefined> {
    const { client, logger } = this.#options;
    const { needs } = request.selection.source;
    let pages = 0;
    if (await this.#canStream(path, request.signal)) {
      try {
        for await (const page of streamSource(client, { ...request, needs })) {
          pages++;
          yield page;
        }
        return;
      } catch (error) {
        if (!(error instanceof NoListStream) || request.signal.aborted) throw error;
        logger?.info("A list could not be streamed and is read in pages", { reason: error.message });
        if (error.isRefused) this.#isStreamless = true;
        else this.#unstreamed.add(path);
        const op = opOf("List", request.selection);
        if (pages > 0) throw new DatastoreError(error.message, { code: "DATASTORE_FAILED", op, cause: error });
      }
    }
    yield* listSource(client, { ...request, needs, isPaged: !this.#unpaged.has(path) });
  }

  async #canStream(path: string, signal: AbortSignal): Promise<boolean> {
    const { mayStream, discovery } = this.#options;
    if (!mayStream || this.#isStreamless || this.#unstreamed.has(path)) return false;
    return discovery.hasListStreams(signal);
  }

  /** What was not there a while ago is looked for in the server's own list of what it has. */
  async #checkMissing({ source }: Selection, path: string, signal: AbortSignal): Promise<void> {
    if (!this.#missing.has(path)) return;
    const isServed = await this.#options.discovery.serves(source.apiVersion, source.plural, signal);
    if (isServed === false) throw this.#notThere(source.apiVersion, source.plural);
    this.#missing.delete(path);
  }

  async #failure(
    error: unknown,
    { source }: Selection,
    path: string,
    hasPages: boolean,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { discovery } = this.#options;
    const code = datastoreCodeOf(error);
    if (code === "DATASTORE_EXPIRED" && hasPages) this.#unpaged.add(path);
    if (code !== "DATASTORE_NOT_FOUND") return error;
    // An empty list takes everything away from whoever reads: a lone 404 is not enough for that.
    const isServed = hasPages || (await discovery.serves(source.apiVersion, source.plural, signal));
    if (isServed === true) {
      const op = `List ${source.plural}`;
      const message = `${op}: not found, though the server says that it has it`;
      return new DatastoreError(message, { code: "DATASTORE_FAILED", op, cause: error });
    }
    this.#missing.add(path);
    if (source.isCalico) discovery.forgetGroup();
    return this.#notThere(source.apiVersion, source.plural);
  }

  #notThere(apiVersion: string, plural: string): DatastoreError {
    const op = `List ${plural}`;
    return new DatastoreError(`The server has no ${plural} of ${apiVersion}`, { code: "DATASTORE_NOT_FOUND", op });
  }
}
