/** What a server tells the other servers of its Service. */
export interface ServerLoad {
  /** Random, one per life of the process: by it a server knows its own answer. */
  readonly instance: string;
  /** Streams of all types. */
  readonly streams: number;
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
  const { instance, streams, limit, takesClients } = value as Partial<Record<keyof ServerLoad, unknown>>;
  const isGood =
    typeof instance === "string" && isCount(streams) && isCount(limit) && typeof takesClients === "boolean";
  return isGood ? { instance, streams, limit, takesClients } : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
