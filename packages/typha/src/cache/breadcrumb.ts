import { assert } from "@bulrush/base";
import type { SyncStatus } from "@bulrush/model";

/** What a breadcrumb is made from. */
export interface BreadcrumbParts {
  /** Counts from 0 (the empty start of a cache) without gaps. */
  readonly sequence: number;
  /** Wall clock, Unix ms, of its making. */
  readonly timestampMs: number;
  /** Wall clock, Unix ms, at which the newest of its changes came from the syncer. */
  readonly seenAtMs: number;
  /** Status of the stream once this breadcrumb has been read. */
  readonly status: SyncStatus;
  /** How many KVs it carries; 0 for one that only changes the status. */
  readonly kvCount: number;
  /**
   * The websocket frames of this step: its delta, then its status when that changed. Encoded once; every client is
   * written this same Buffer, and nobody changes it.
   */
  readonly frame: Buffer;
  /** About what all breadcrumbs up to this one took, in bytes: the difference of two is what lies between them. */
  readonly endByte: number;
}

/** Guess at what a breadcrumb costs beside its frame. */
export const CRUMB_OVERHEAD_BYTES = 256;

/**
 * One step of the cache's history. A client's whole queue is the breadcrumb that it was sent last: the rest follows by
 * `next`. There is no list of clients here, and no copy per client; what nobody can reach any more, the garbage
 * collector takes.
 *
 * Invariant: all but `next` is fixed; `next` is set once, to the breadcrumb of `sequence + 1`.
 */
export class Breadcrumb implements BreadcrumbParts {
  readonly sequence: number;
  readonly timestampMs: number;
  readonly seenAtMs: number;
  readonly status: SyncStatus;
  readonly kvCount: number;
  /** The delta from the breadcrumb before; shared by all clients. */
  readonly frame: Buffer;
  readonly endByte: number;
  /** `frame` as a list, for those who write lists: one for all clients. */
  readonly frames: readonly [Buffer];
  #next: Breadcrumb | undefined = undefined;

  constructor(parts: BreadcrumbParts) {
    this.sequence = parts.sequence;
    this.timestampMs = parts.timestampMs;
    this.seenAtMs = parts.seenAtMs;
    this.status = parts.status;
    this.kvCount = parts.kvCount;
    this.frame = parts.frame;
    this.frames = [parts.frame];
    this.endByte = parts.endByte;
  }

  /** The step after this one; `undefined` at the head. */
  get next(): Breadcrumb | undefined {
    return this.#next;
  }

  /** For the cache alone. */
  append(next: Breadcrumb): void {
    assert(this.#next === undefined, () => `Breadcrumb ${this.sequence} already has a follower`);
    assert(next.sequence === this.sequence + 1, () => `Breadcrumb ${next.sequence} after ${this.sequence}`);
    this.#next = next;
  }
}
