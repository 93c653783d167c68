import type { Family } from "../render/statements.ts";

/** What rules may ask of a packet that starts a flow. */
export interface JudgedPacket {
  readonly family: Family;
  /** "" where the packet has none: it comes from this host, or is for it. */
  readonly inInterface: string;
  readonly outInterface: string;
  /** Canonical addresses. */
  readonly source: string;
  readonly destination: string;
  /** IP protocol number. */
  readonly protocol: number;
  /** Missing where the protocol has none, or they are not known. */
  readonly sourcePort: number | undefined;
  readonly destinationPort: number | undefined;
  /** IPS_ bits of its flow. */
  readonly status: number;
}
