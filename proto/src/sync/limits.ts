/** What a decoder accepts. Every bound is checked before memory is spent on what it bounds. */
export interface DecodeLimits {
  /** Whose messages are accepted. */
  readonly from: "client" | "server" | "either";
  /** Bytes of the frame as it came, codec byte included. */
  readonly maxFrameBytes: number;
  /** Bytes of the body after decompression. */
  readonly maxBodyBytes: number;
  /** KVs in one message. */
  readonly maxKVs: number;
}

/** Nesting of arrays, maps and records in a body. Values nest less than 12 deep. */
export const MAX_DEPTH = 48;

/** Arrays, maps and records in a body of so many bytes: one may be a byte on the wire and two hundred in memory. */
export function maxContainers(bodyBytes: number): number {
  return 4096 + Math.floor(bodyBytes / 4);
}

/** What a server accepts from a client: a hello with digests of 1,024 buckets has 22 KiB; pong and ack are small. */
export const CLIENT_MESSAGE_LIMITS: DecodeLimits = {
  from: "client",
  maxFrameBytes: 32 * 1024,
  maxBodyBytes: 32 * 1024,
  maxKVs: 0,
};

/** What a client accepts from a server, and therefore the most that a server may put into a frame. */
export const SERVER_MESSAGE_LIMITS: DecodeLimits = {
  from: "server",
  maxFrameBytes: 16 * 1024 * 1024,
  maxBodyBytes: 16 * 1024 * 1024,
  maxKVs: 10_000,
};
