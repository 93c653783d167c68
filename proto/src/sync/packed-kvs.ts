/** One or several KVs as they stand in the body of a message. */
export interface PackedPart {
  readonly source: Buffer;
  readonly start: number;
  readonly end: number;
  /** In place of the last byte, which is the update type of the last KV; undefined: as it is. */
  readonly type: number | undefined;
}

/** The KVs of a message, packed. Made by `KVPacking.list`. */
export class PackedKVs {
  readonly count: number;
  readonly parts: readonly PackedPart[];
  /** Of all parts. */
  readonly bytes: number;

  constructor(count: number, parts: readonly PackedPart[], bytes: number) {
    this.count = count;
    this.parts = parts;
    this.bytes = bytes;
  }
}
