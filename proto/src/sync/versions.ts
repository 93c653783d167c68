/** One version of the wire format. */
export interface ProtocolVersion {
  readonly version: number;
  /** `schemaHash()` of that version. A change of the format needs a new entry; a test holds the last one to the code. */
  readonly schemaHash: string;
  readonly changes: string;
}

/** Oldest first. */
export const PROTOCOL_VERSIONS: readonly ProtocolVersion[] = [
  { version: 1, schemaHash: "164c66ab1ea4ce33", changes: "The first version" },
  {
    version: 2,
    schemaHash: "9937b6463a4178a0",
    changes: "Digests in the hello, resume `buckets` in the welcome; since when a server is stale; more codes",
  },
  { version: 3, schemaHash: "0f3e110f42219852", changes: "The time between pings in the welcome" },
];

/** The version that this code speaks at most, and puts into its hello. */
export const PROTOCOL_VERSION = 3;

/** The oldest version that this code still serves. */
export const OLDEST_PROTOCOL_VERSION = 1;

/** The version for a client that speaks `clientVersion` at most, or undefined when there is none. */
export function negotiateVersion(clientVersion: number): number | undefined {
  const version = Math.min(clientVersion, PROTOCOL_VERSION);
  return version >= OLDEST_PROTOCOL_VERSION ? version : undefined;
}
