import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { decodeServerMessage, encodeMessage, type KV } from "@bulrush/proto";
import { readKV, type Update, type Value } from "@bulrush/model";
import { encodeRecord, readRecords } from "./record.ts";

/**
 * What is in a state directory: one base, and the journals of what changed since.
 *
 * ```
 *  base        header | snapshot, ... | snapshot-end     everything at its generation g; renamed into place when whole
 *  journal.g   header | delta, ...                       what came after; g + 1, g + 2, ... go on where the one before
 *  journal.g+1 header | delta, ...                       ends, which may be at a record that is not whole
 * ```
 *
 * The bodies are frames of the sync protocol (proto/README.md): the agent's own past speaks to it as a Typha does. The
 * deltas are numbered through all journals, so that none is missed: the numbers join the files, the generations only order
 * them.
 */
const STATE_VERSION = 1;
const MAGIC = "bulrush agent state";
export const BASE_FILE = "base";
const COMPRESS_FROM_BYTES = 512;

export interface StateHeader {
  readonly hostname: string;
  /** Of the base; of a journal its own. */
  readonly generation: number;
  /** Number of the last delta before this file, or in this base. */
  readonly sequence: number;
  /** Unix ms. */
  readonly atMs: number;
}

export function journalName(generation: number): string {
  return `journal.${generation}`;
}

export function headerRecord(header: StateHeader): Buffer {
  return encodeRecord(Buffer.from(JSON.stringify({ magic: MAGIC, version: STATE_VERSION, ...header }), "utf8"));
}

export function snapshotRecord(updates: readonly Update[]): Buffer {
  const frame = encodeMessage({ type: "snapshot", kvs: updates.map(toKV) }, { compressFromBytes: COMPRESS_FROM_BYTES });
  return encodeRecord(frame);
}

export function endRecord(count: number): Buffer {
  return encodeRecord(encodeMessage({ type: "snapshot-end", sequence: 0, count }));
}

/** `sequence`: of this delta, from 1. */
export function deltaRecord(sequence: number, updates: readonly Update[], atMs: number): Buffer {
  const kvs = updates.map(toKV);
  const message = { type: "delta", fromSequence: sequence - 1, sequence, kvs, seenAtMs: atMs } as const;
  return encodeRecord(encodeMessage(message, { compressFromBytes: COMPRESS_FROM_BYTES }));
}

/** Journals that are there, in order of generation. */
export async function journalsIn(directory: string): Promise<readonly number[]> {
  const names = await readdir(directory);
  return names
    .flatMap((name) => /^journal\.([0-9]{1,15})$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

export interface BaseReader {
  readonly header: StateHeader;
  /** Slices of what it holds. Returns false where it ends before its end. */
  readonly slices: AsyncGenerator<readonly Update[], boolean>;
  /** Call it when the slices were not read to their end. */
  close(): Promise<unknown>;
}

/** Undefined: the file is no base of this version. Throws what the file system throws (ENOENT). */
export async function readBase(directory: string): Promise<BaseReader | undefined> {
  const records = readRecords(join(directory, BASE_FILE));
  const first = await records.next();
  const header = first.done === true ? undefined : parseHeader(first.value);
  if (header === undefined) {
    await records.return();
    return undefined;
  }
  return { header, slices: readSnapshot(records), close: () => records.return() };
}

async function* readSnapshot(records: AsyncGenerator<Buffer, void>): AsyncGenerator<readonly Update[], boolean> {
  let count = 0;
  for await (const body of records) {
    const message = tryDecode(body);
    if (message?.type === "snapshot-end") return message.count === count;
    if (message?.type !== "snapshot") return false;
    count += message.kvs.length;
    yield message.kvs.flatMap(toUpdate);
  }
  return false;
}

export interface JournalSlice {
  readonly sequence: number;
  readonly updates: readonly Update[];
  /** Unix ms. */
  readonly atMs: number;
}

/** How far the journals go. */
export interface JournalsEnd {
  /** The highest that is there; the base's where there is none. */
  readonly generation: number;
  /** Those that hold something that does not join on to what was read before it. */
  readonly outOfOrder: readonly number[];
}

/**
 * What came after the base, in order. A generation may be missing: a crash may come between a new base and its journal.
 * What counts is that the numbers of the deltas join on.
 */
export async function* readJournals(directory: string, base: StateHeader): AsyncGenerator<JournalSlice, JournalsEnd> {
  let { generation, sequence } = base;
  const outOfOrder: number[] = [];
  for (const one of await journalsIn(directory)) {
    if (one < base.generation) continue;
    generation = one;
    const slices = readJournal(directory, one, sequence);
    let step = await slices.next();
    for (; step.done !== true; step = await slices.next()) {
      ({ sequence } = step.value);
      yield step.value;
    }
    if (step.value === "out of order") outOfOrder.push(one);
  }
  return { generation, outOfOrder };
}

/**
 * What a journal holds after the delta `sequence`, up to its first record that is not whole or out of order. A record
 * that is not whole is where a crash ended the file.
 */
async function* readJournal(
  directory: string,
  generation: number,
  sequence: number,
): AsyncGenerator<JournalSlice, "end of file" | "out of order"> {
  let at = sequence;
  let isFirst = true;
  for await (const body of readRecords(join(directory, journalName(generation)))) {
    if (isFirst) {
      const header = parseHeader(body);
      if (header?.generation !== generation || header.sequence !== at) return "out of order";
      isFirst = false;
      continue;
    }
    const message = tryDecode(body);
    if (message?.type !== "delta" || message.fromSequence !== at) return "out of order";
    at = message.sequence;
    yield { sequence: at, updates: message.kvs.flatMap(toUpdate), atMs: message.seenAtMs };
  }
  return "end of file";
}

function parseHeader(body: Buffer): StateHeader | undefined {
  try {
    const { magic, version, hostname, generation, sequence, atMs } = JSON.parse(body.toString("utf8")) as Record<
      string,
      unknown
    >;
    if (magic !== MAGIC || version !== STATE_VERSION || typeof hostname !== "string") return undefined;
    if (typeof generation !== "number" || typeof sequence !== "number" || typeof atMs !== "number") return undefined;
    return { hostname, generation, sequence, atMs };
  } catch {
    return undefined;
  }
}

function tryDecode(body: Buffer): ReturnType<typeof decodeServerMessage> | undefined {
  try {
    return decodeServerMessage(body);
  } catch {
    return undefined;
  }
}

function toKV({ path, value, revision, type }: Update): KV {
  return { path, value, revision, updateType: type };
}

/** A path of another version that is no key any more is left out. */
function toUpdate({ path, value, revision, updateType }: KV): readonly Update[] {
  const read = readKV(path, value);
  if (read === undefined) return [];
  return [{ key: read.key, path: read.path, value: read.value as Value | undefined, revision, type: updateType }];
}
