/** An entry of the ARP, NDP or bridge forwarding table. */
export interface Neighbour {
  readonly device: number;
  /** IP address. For a forwarding entry: the remote host's address, or missing. */
  readonly address?: string;
  readonly mac?: string;
  /** NUD_ bits: reachable 2, stale 4, failed 0x20, noarp 0x40, permanent 0x80. Default when written: permanent. */
  readonly state?: number;
  /** True for an entry of a bridge forwarding table (AF_BRIDGE, NTF_SELF): `mac` is the key. */
  readonly forwarding?: boolean;
}
