import type { Resource } from "@bulrush/model";
import type { Problem, SourcePosition } from "../problem.ts";
import type { ItemIssue } from "./item-issue.ts";
import type { DatastoreKind } from "./kind.ts";

/** Names one stored thing. `namespace` is empty for the kinds without one. */
export interface ItemKey {
  readonly kind: DatastoreKind;
  readonly namespace: string;
  readonly name: string;
}

/**
 * One stored thing in its v3 shape. `revision` is opaque and changes exactly when the contents do. `value` undefined
 * says that it exists but cannot be converted at all; `issues` then say why. With a value, an issue of severity "error"
 * says that the value is a closed form: what could not be read was left out so that nothing gets wider.
 */
export interface Item extends ItemKey {
  readonly revision: string;
  readonly value: Resource | undefined;
  /** Absent where there is nothing to say. */
  readonly issues?: readonly ItemIssue[];
  /** Where it was read, if the store has such places. */
  readonly source?: SourcePosition;
  /** What its author knows it as, where that is another kind (a Pod, a Namespace). */
  readonly subject?: ItemSubject;
}

/** A stored thing as it is named where it is written. */
export interface ItemSubject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** One list, of everything or of what is named. `signal` ends it between pages. */
export interface ListRequest {
  readonly kind: DatastoreKind;
  /** "" or "0": any recent state will do. Otherwise not older than this. */
  readonly revision: string;
  readonly signal: AbortSignal;
  /** Only this one. */
  readonly name?: string;
  readonly namespace?: string;
}

/** `revision` on the last page is where a watch goes on from; "" or "0" if the kind cannot be watched. */
export interface ListPage {
  readonly items: readonly Item[];
  readonly revision: string;
  /** The list is empty because the server does not have this kind yet: what to tell, while it is asked again. */
  readonly missing?: string;
}

/** One watch of a kind, from a revision on. */
export interface WatchRequest {
  readonly kind: DatastoreKind;
  /** Of a list or an event: only what came after it is told. Never "" or "0". */
  readonly revision: string;
  /** Ends the watch, also before it stands. */
  readonly signal: AbortSignal;
  /** Only this one, with its namespace. Default: all of the kind. */
  readonly name?: string;
  readonly namespace?: string;
}

/** One message of a watch. Of one kind, in the order of the store. */
export type WatchEvent =
  /** `revision`: where a watch goes on from after this event. Default: the item's. */
  | { readonly type: "added" | "modified"; readonly item: Item; readonly revision?: string }
  /** `item` undefined: the server did not say what was deleted. The reader must list again. */
  | { readonly type: "deleted"; readonly item: ItemKey | undefined; readonly revision: string }
  /** Nothing changed up to `revision`. */
  | { readonly type: "bookmark"; readonly revision: string }
  /** The stream is over. DATASTORE_EXPIRED: list again. */
  | { readonly type: "error"; readonly error: Error };

/** A running watch. One reader; `next` is not called again before it has resolved. */
export interface WatchStream {
  /** The next events, in order and at least one; undefined when the stream has ended. Rejects only by its signal. */
  next(): Promise<readonly WatchEvent[] | undefined>;
  /** Frees what the stream holds. `next` then gives undefined. Twice is fine. */
  close(): void;
}

/**
 * A store of resources that can be listed and watched. Errors are DatastoreErrors with these meanings for the reader:
 * DATASTORE_NOT_FOUND (from a list: the API of this kind is missing), DATASTORE_EXPIRED,
 * DATASTORE_REVISION_TOO_LARGE, DATASTORE_CONNECTION_REFUSED, DATASTORE_TOO_MANY_REQUESTS, DATASTORE_NOT_SUPPORTED;
 * anything else is "try again".
 *
 * The driver: gives complete items, keeps the order of one kind's events, stops at the signal.
 * The reader: takes pages one at a time (that is the back-pressure), closes each watch.
 */
export interface DatastoreDriver {
  readonly type: "file" | "kubernetes" | "etcdv3";
  /** IPAM blocks (and tunnel addresses) come from the pod CIDRs of nodes, not from IPAM. Default false. */
  readonly usePodCIDR?: boolean;
  /** Pages of all items, never empty of pages. Throws on the page where something went wrong. */
  list(request: ListRequest): AsyncIterable<ListPage>;
  /** Resolves when the watch stands: every change after `revision` will be told. */
  watch(request: WatchRequest): Promise<WatchStream>;
  /**
   * Asks the server for a sign of life at small cost, to tell a quiet stream from a dead one. Resolves when it
   * answered.
   */
  probe(kind: DatastoreKind, signal: AbortSignal): Promise<void>;
  /** What is wrong with the stored data at the moment, oldest first. */
  problems(): readonly Problem[];
  /** After the reader has ended its lists and watches. No call may follow. */
  close(): Promise<void>;
}
