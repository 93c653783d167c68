/** Streams by their type; a type that is not among them has none. */
type StreamCounts = Readonly<Record<string, number>>;

/** More types than there are. */
const MAX_TYPES = 16;

/** What a server tells the other servers of its Service. */
export interface ServerLoad {
  /** Random, one per life of the process: by it a server knows its own answer. */
  readonly instance: string;
  /** Streams of all types. */
  readonly streams: number;
  /** By type of stream; undefined: a server of a version that does not say. */
  readonly types?: StreamCounts | undefined;
  /** Above it the server hands streams over. Never above what it takes at all. */
  readonly limit: number;
  /** In sync and not shutting down. */
  readonly takesClients: boolean;
}

/** undefined where the text is no load: another program answers, or another version. */
export function parseServerLoad(text: string): ServerLoad | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { instance, streams, types, limit, takesClients } = value as Partial<Record<keyof ServerLoad, unknown>>;
  const isGood =
    typeof instance === "string" && isCount(streams) && isCount(limit) && typeof takesClients === "boolean";
  if (!isGood || !(types === undefined || isCounts(types))) return undefined;
  return { instance, streams, limit, takesClients, ...(types !== undefined && { types }) };
}

function isCounts(value: unknown): value is StreamCounts {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const counts: readonly unknown[] = Object.values(value);
  return counts.length <= MAX_TYPES && counts.every(isCount);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
