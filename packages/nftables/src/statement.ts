/**
 * What a rule is made of, in nft's own words: matches and statements as data. encode/ turns them into kernel
 * expressions, format.ts into nft syntax; both read this one form, so what is printed is what is programmed.
 */

/** A field of the packet header. `th` is the transport header, whatever the protocol. */
export type PayloadField =
  | "ip saddr"
  | "ip daddr"
  | "ip6 saddr"
  | "ip6 daddr"
  | "th sport"
  | "th dport"
  | "icmp type"
  | "icmpv6 type"
  /** Two bytes, type then code: nft has no single word for it (printed as @th,0,16). */
  | "icmp type-code"
  | "ip dscp"
  | "ip6 dscp"
  | "arp operation"
  | "arp saddr ip";

/** What the kernel knows of a packet beside its bytes. `mark` is 32 bits, `nfproto` is "ipv4" or "ipv6". */
export type MetaKey = "mark" | "iifname" | "oifname" | "l4proto" | "nfproto";

/**
 * Of conntrack's entry for the packet. `state` and `status` are bits ({@link CT_STATE}, {@link CT_STATUS}); `direction`
 * is "original" or "reply".
 */
export type CtKey = "state" | "status" | "mark" | "direction";

/** What a match looks at. */
export type Operand =
  | { readonly kind: "payload"; readonly field: PayloadField }
  | { readonly kind: "meta"; readonly key: MetaKey }
  | { readonly kind: "ct"; readonly key: CtKey }
  /** What a route look-up by these fields says: the interface's index, or the kind of address ("local", "unicast"). */
  | {
      readonly kind: "fib";
      readonly result: "oif" | "type";
      readonly flags: readonly ("saddr" | "daddr" | "mark" | "iif" | "oif")[];
    }
  /** Several fields side by side: `ip saddr . meta l4proto . th dport`. */
  | { readonly kind: "concat"; readonly parts: readonly Operand[] };

/** One value: an address ("10.0.0.1"), a number, a protocol name ("tcp"), an interface name. */
export type Literal = string | number;

/** What it is compared with. */
export type Right =
  | { readonly kind: "value"; readonly value: Literal }
  /** A network: "10.0.0.0/8". A /32 or /128 compares the whole address; a /0 matches every packet of the family. */
  | { readonly kind: "cidr"; readonly cidr: string }
  /** Interface names that begin so: `cali*`. */
  | { readonly kind: "prefix"; readonly prefix: string }
  /** `(operand & mask) == value`. Numbers are unsigned 32-bit. */
  | { readonly kind: "masked"; readonly mask: number; readonly value: number }
  /** An inclusive range. */
  | { readonly kind: "range"; readonly first: number; readonly last: number }
  /** A named set of the same table. */
  | { readonly kind: "set"; readonly name: string }
  /** An anonymous set, made and gone with the rule: single values and inclusive ranges. */
  | {
      readonly kind: "anonymous";
      readonly elements: readonly (Literal | { readonly first: number; readonly last: number })[];
    };

/**
 * Ends the rule. `return` goes back to behind the jump, `continue` to the next rule; only `accept` and `drop` decide.
 */
export type Verdict =
  | { readonly kind: "accept" }
  | { readonly kind: "drop" }
  | { readonly kind: "continue" }
  | { readonly kind: "return" }
  | { readonly kind: "jump"; readonly chain: string }
  | { readonly kind: "goto"; readonly chain: string };

/** One step of a rule, done in order. A match that does not hold ends the rule for the packet. */
export type Statement =
  /** A bit field (`ip dscp`) is compared with its other bits masked away. */
  | { readonly kind: "match"; readonly left: Operand; readonly op: "==" | "!="; readonly right: Right }
  /** Counts from zero each time that the rule is made anew. */
  | { readonly kind: "counter" }
  | { readonly kind: "verdict"; readonly verdict: Verdict }
  /** Looks the operand up in a verdict map of the same table; nothing happens when it is not there. */
  | { readonly kind: "vmap"; readonly key: Operand; readonly map: string }
  /**
   * Adds what the operand says to a dynamic set of the same table for a time, or (`update`) for that time anew where it is
   * there already, or takes it out. The rule ends where there is no room for it, or it is not there.
   */
  | {
      readonly kind: "set-element";
      readonly change: "add" | "update";
      readonly set: string;
      readonly key: Operand;
      /** At least 1. */
      readonly timeoutSeconds: number;
    }
  | { readonly kind: "set-element"; readonly change: "delete"; readonly set: string; readonly key: Operand }
  /** `meta mark set (meta mark & ~mask) | value`; value lies inside mask. */
  | { readonly kind: "set-mark"; readonly mask: number; readonly value: number }
  /** To the kernel's log. A prefix has at most 127 bytes. */
  | { readonly kind: "log"; readonly prefix: string; readonly level: "info" | "warn" }
  /**
   * To the readers of an NFLOG group (0 to 65535). A prefix has at most 127 bytes; `snaplen` bytes of each packet are
   * copied, 0: all.
   */
  | { readonly kind: "nflog"; readonly group: number; readonly prefix: string; readonly snaplen: number }
  /** Goes on while the rate is under (`over` false) or above (`over` true) the limit. */
  | {
      readonly kind: "limit";
      readonly rate: number;
      readonly unit: "second" | "minute" | "hour" | "day";
      readonly burst: number;
      readonly over: boolean;
    }
  /** Goes on while the rule's connections that live are at most (`over` false) or more than (`over` true) `count`. */
  | { readonly kind: "connlimit"; readonly count: number; readonly over: boolean }
  /**
   * Drops the packet and tells its sender. "tcp-reset" only behind a match of TCP in the same rule, else NFT_INVALID.
   */
  | { readonly kind: "reject"; readonly with: "tcp-reset" | "icmpx-port-unreachable" | "icmpx-admin-prohibited" }
  /** Conntrack passes this packet over. Only at a hook in front of conntrack's own. */
  | { readonly kind: "notrack" }
  /** Source NAT to the outgoing interface's address. Ports: inclusive, 0 to 65535; default: the kernel chooses. */
  | {
      readonly kind: "masquerade";
      readonly fullyRandom: boolean;
      readonly ports?: { readonly first: number; readonly last: number };
    }
  /** To one address; its text says the family. Ports: inclusive, 0 to 65535; default: the packet's own. */
  | {
      readonly kind: "nat";
      readonly type: "snat" | "dnat";
      readonly address: string;
      readonly ports?: { readonly first: number; readonly last: number };
    }
  /** 0 to 63; of the headers of one family, so behind a match of that family. */
  | { readonly kind: "set-dscp"; readonly family: 4 | 6; readonly dscp: number }
  /** Hands the flow to a flow table of the same table, once it is established. */
  | { readonly kind: "flow-offload"; readonly flowtable: string };

/** Bits of `ct state` (nf_conntrack_common.h). */
export const CT_STATE = { invalid: 1, established: 2, related: 4, new: 8, untracked: 64 } as const;

/** Bits of `ct status`. */
export const CT_STATUS = { dnat: 0x20, snat: 0x10 } as const;
