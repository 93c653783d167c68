/** Another server, as far as is known. */
export interface KnownPeer {
  /** `host:port`. */
  readonly address: string;
  /** Its streams at its last answer, and those that were sent to it since. */
  readonly streams: number;
  /** Above it, it would hand streams over itself. */
  readonly limit: number;
}

export interface ShedInputs {
  /** This server's streams. */
  readonly own: number;
  /** Above it this server hands over. */
  readonly limit: number;
  /** The other servers that take clients. Those that nothing is known of are not among them. */
  readonly peers: readonly KnownPeer[];
  /** Whether a server with more than others hands over below the limit too. */
  readonly levelling: boolean;
  /**
   * In [0, 1), new each time that the peers' numbers are: how much above the mean this server stays. All servers shed
   * at once, each a whole number: only at random do these add up to what is missing elsewhere.
   */
  readonly rounding: number;
}

export type ShedPlan =
  /** `stuck`: over the limit, and no other server has room. */
  | { readonly type: "rest"; readonly stuck: boolean }
  | {
      readonly type: "shed";
      readonly why: "limit" | "levelling";
      /** How many in all, at least 1. */
      readonly surplus: number;
      readonly targets: readonly ShedTarget[];
    };

/** A server to send streams to. */
export interface ShedTarget {
  readonly address: string;
  /** How many it should get; above 0. */
  readonly weight: number;
}

/**
 * Servers may differ by this part of the mean before they are levelled. Half of what a fleet is promised to stay in:
 * numbers are seconds old, and clients come and go.
 */
const TOLERANCE = 0.05;

/**
 * Whether to hand a stream over, and to whom. Nothing is ever shed without a server that has room for it and has at
 * least two streams fewer: handing it over there is no step that must be taken back.
 *
 * ```
 *  own > limit, somebody has room ---------------> shed, to those with room
 *  own > limit, nobody has room -----------------> rest, stuck   (a limit that is too low for the fleet)
 *  levelling, own above the mean, and somebody
 *  else more than the tolerance below own -------> shed, to those below the mean
 * ```
 */
export function planShed({ own, limit, peers, levelling, rounding }: ShedInputs): ShedPlan {
  const open = peers.filter((peer) => peer.streams < peer.limit && own - peer.streams >= 2);
  if (own > limit) {
    if (open.length === 0) return { type: "rest", stuck: true };
    const targets = open.map((peer) => ({
      address: peer.address,
      weight: Math.min(peer.limit - peer.streams, (own - peer.streams) / 2),
    }));
    return { type: "shed", why: "limit", surplus: own - limit, targets };
  }
  const total = peers.reduce((sum, { streams }) => sum + streams, own);
  const mean = total / (peers.length + 1);
  const surplus = Math.ceil(own - mean - rounding);
  const least = Math.min(...open.map(({ streams }) => streams));
  const targets = open.flatMap(({ address, streams, limit: room }) =>
    streams < mean ? [{ address, weight: Math.min(room, mean) - streams }] : [],
  );
  const isUneven = own - least > TOLERANCE * mean;
  if (!levelling || !isUneven || surplus < 1 || targets.length === 0) return { type: "rest", stuck: false };
  return { type: "shed", why: "levelling", surplus, targets };
}

/** Up to `count` of the targets, each with a chance that grows with its weight, none twice. `random` gives [0, 1). */
export function pickTargets(targets: readonly ShedTarget[], count: number, random: () => number): readonly string[] {
  const left = [...targets];
  const picked: string[] = [];
  while (picked.length < count && left.length > 0) {
    let at = random() * left.reduce((sum, { weight }) => sum + weight, 0);
    let index = left.findIndex(({ weight }) => (at -= weight) < 0);
    // Rounding may leave a little behind the last one.
    if (index < 0) index = left.length - 1;
    picked.push(...left.splice(index, 1).map(({ address }) => address));
  }
  return picked;
}
