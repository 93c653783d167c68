import type { Resource } from "@bulrush/model";
import type {
  DatastoreDriver,
  Item,
  ListPage,
  ListRequest,
  WatchEvent,
  WatchRequest,
  WatchStream,
} from "../driver/driver.ts";
import type { DatastoreKind } from "../driver/kind.ts";
import { DatastoreError, type DatastoreErrorCode } from "../errors.ts";
import type { Problem } from "../problem.ts";

/** What one call of `list` does: pages of items, or an error after the pages. */
export interface ListStep {
  readonly pages?: readonly (readonly Item[])[];
  readonly revision?: string;
  readonly error?: DatastoreErrorCode;
  /** What every page but the first waits for. */
  readonly pause?: Promise<void>;
}

/** A watch that a test feeds. */
export class ScriptedStream implements WatchStream {
  readonly request: WatchRequest;
  readonly #queue: (readonly WatchEvent[] | undefined)[] = [];
  #wake: (() => void) | undefined;
  isClosed = false;

  constructor(request: WatchRequest) {
    this.request = request;
    request.signal.addEventListener("abort", () => this.end(), { once: true });
  }

  emit(...events: WatchEvent[]): void {
    this.#queue.push(events);
    this.#wake?.();
  }

  end(): void {
    this.#queue.push(undefined);
    this.#wake?.();
  }

  async next(): Promise<readonly WatchEvent[] | undefined> {
    while (this.#queue.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#queue.shift();
  }

  close(): void {
    this.isClosed = true;
    this.end();
  }
}

/**
 * A driver for tests that does what it is told, per kind: each list and each watch takes the next step of its script,
 * and records the revision it was asked for. Without a script a kind is empty at revision "1" and silent.
 */
export class ScriptedDriver implements DatastoreDriver {
  readonly type = "kubernetes";
  usePodCIDR = false;
  readonly lists: Map<DatastoreKind, ListStep[]> = new Map<DatastoreKind, ListStep[]>();
  readonly watchErrors: Map<DatastoreKind, DatastoreErrorCode[]> = new Map<DatastoreKind, DatastoreErrorCode[]>();
  readonly log: string[] = [];
  readonly streams: ScriptedStream[] = [];
  probes = 0;
  probeError: DatastoreErrorCode | undefined;

  async *list({ kind, revision }: ListRequest): AsyncIterable<ListPage> {
    this.log.push(`list ${kind} ${revision}`);
    await Promise.resolve();
    const steps = this.lists.get(kind) ?? [];
    // The last step stands for all that follow.
    const step = (steps.length > 1 ? steps.shift() : steps[0]) ?? { revision: "1" };
    for (const [i, items] of (step.pages ?? []).entries()) {
      if (i > 0) await step.pause;
      yield { items, revision: step.revision ?? "" };
    }
    if (step.error !== undefined) throw new DatastoreError(step.error, { code: step.error });
    if (step.pages === undefined) yield { items: [], revision: step.revision ?? "" };
  }

  watch(request: WatchRequest): Promise<WatchStream> {
    this.log.push(`watch ${request.kind} ${request.revision}`);
    const code = this.watchErrors.get(request.kind)?.shift();
    if (code !== undefined) return Promise.reject(new DatastoreError(code, { code }));
    const stream = new ScriptedStream(request);
    this.streams.push(stream);
    return Promise.resolve(stream);
  }

  probe(): Promise<void> {
    this.probes++;
    const code = this.probeError;
    return code === undefined ? Promise.resolve() : Promise.reject(new DatastoreError(code, { code }));
  }

  problems(): readonly Problem[] {
    return [];
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** The newest watch of a kind. */
  stream(kind: DatastoreKind): ScriptedStream {
    const found = this.streams.findLast((stream) => stream.request.kind === kind);
    if (found === undefined) throw new Error(`No watch of ${kind}`);
    return found;
  }

  /** Forgets the log and returns it. */
  takeLog(): string[] {
    return this.log.splice(0);
  }
}

/** An item whose value carries its revision. */
export function scriptedItem(
  kind: DatastoreKind,
  name: string,
  revision: string,
  spec: unknown = {},
  namespace = "",
): Item {
  const value: Resource = {
    apiVersion: "projectcalico.org/v3",
    kind,
    metadata: { name, ...(namespace !== "" && { namespace }), resourceVersion: revision },
    spec,
  };
  return { kind, namespace, name, revision, value };
}
