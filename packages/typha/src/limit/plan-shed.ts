/** Streams by their type. A type that is not there has none. */
export type TypeCounts = ReadonlyMap<string, number>;

/** Another server, as far as is known. */
export interface KnownPeer {
  /** `host:port`. */
  readonly address: string;
  /** Its streams at its last answer, and those that were sent to it since. */
  readonly streams: number;
  /** The same by type; undefined: it does not say. */
  readonly types: TypeCounts | undefined;
  /** Above it, it would hand streams over itself. */
  readonly limit: number;
}

export interface ShedInputs {
  /** This server's streams. */
  readonly own: number;
  /** The same by type. */
  readonly ownTypes: TypeCounts;
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
      /** Type of the stream to hand over; undefined: any, as a server does not tell its types. */
      readonly syncer: string | undefined;
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
/** From this mean on two streams more than another are within what is promised, and nobody is moved for them. */
const EVEN_MEAN = 20;
const EVEN_STREAMS = 2;

/**
 * Whether to hand a stream over, of which type, and to whom. Nothing is ever shed without a server that has room for it
 * and has at least two streams fewer, of its type or of all: handing it over there is no step that must be taken back.
 *
 * ```
 *  own > limit, somebody has room ---------------> shed, to those with room
 *  own > limit, nobody has room -----------------> rest, stuck   (a limit that is too low for the fleet)
 *  levelling, own above the mean in one type, and
 *  somebody more than the tolerance below own ---> shed of this type, to those below its mean
 *  else the same with the streams of all types --> shed of a type of which the other one has fewer
 * ```
 * Types are levelled one by one, as streams of one type are much more work than those of another, and then all of them:
 * a server that has one more than others of each type would have four more in all.
 */
export function planShed(inputs: ShedInputs): ShedPlan {
  const { own, limit, levelling } = inputs;
  const peers = inputs.peers.filter(({ streams, limit: room }) => streams < room);
  if (own > limit) {
    const open = peers.filter(({ streams }) => own - streams >= 2);
    if (open.length === 0) return { type: "rest", stuck: true };
    const targets = open.map((peer) => ({
      address: peer.address,
      weight: Math.min(peer.limit - peer.streams, (own - peer.streams) / 2),
    }));
    return { type: "shed", why: "limit", syncer: byMostAbove(inputs)?.[0], surplus: own - limit, targets };
  }
  if (!levelling) return { type: "rest", stuck: false };
  return levelTypes(inputs) ?? levelAll(inputs) ?? { type: "rest", stuck: false };
}

/** The type with the largest surplus; undefined: all are level, or a server does not tell its types. */
function levelTypes(inputs: ShedInputs): ShedPlan | undefined {
  let plan: (ShedPlan & { readonly type: "shed" }) | undefined;
  for (const [syncer, own] of inputs.ownTypes) {
    const counts = countsOf(inputs.peers, syncer);
    const level = counts === undefined ? undefined : levelOne(own, counts, inputs);
    if (level !== undefined && level.surplus > (plan?.surplus ?? 0))
      plan = { type: "shed", why: "levelling", syncer, ...level };
  }
  return plan;
}

/** All types together. */
function levelAll(inputs: ShedInputs): ShedPlan | undefined {
  const level = levelOne(
    inputs.own,
    inputs.peers.map(({ streams }) => streams),
    inputs,
  );
  if (level === undefined) return undefined;
  const syncers = byMostAbove(inputs);
  if (syncers === undefined) return { type: "shed", why: "levelling", syncer: undefined, ...level };
  // A type goes only to where there are fewer of it: the types stay level. Who has fewer in all has fewer of some type.
  for (const syncer of syncers) {
    const own = inputs.ownTypes.get(syncer) ?? 0;
    const fewer = new Set(
      inputs.peers.filter(({ types }) => (types?.get(syncer) ?? 0) < own).map(({ address }) => address),
    );
    const targets = level.targets.filter(({ address }) => fewer.has(address));
    if (targets.length > 0) return { type: "shed", why: "levelling", syncer, surplus: level.surplus, targets };
  }
  return undefined;
}

/** `counts`: of each of the peers what is levelled. */
function levelOne(
  own: number,
  counts: readonly number[],
  { peers, rounding }: ShedInputs,
): { readonly surplus: number; readonly targets: readonly ShedTarget[] } | undefined {
  const mean = counts.reduce((sum, count) => sum + count, own) / (counts.length + 1);
  const surplus = Math.ceil(own - mean - rounding);
  let least = Number.POSITIVE_INFINITY;
  const targets: ShedTarget[] = [];
  for (const [index, { address, streams, limit }] of peers.entries()) {
    const count = counts[index] ?? 0;
    if (streams >= limit || own - count < 2) continue;
    least = Math.min(least, count);
    if (count < mean) targets.push({ address, weight: Math.min(limit - streams, mean - count) });
  }
  const isUneven = own - least > Math.max(TOLERANCE * mean, mean >= EVEN_MEAN ? EVEN_STREAMS : 0);
  return isUneven && surplus >= 1 && targets.length > 0 ? { surplus, targets } : undefined;
}

/** This server's types, that of which it has most above the mean first; undefined: a server does not tell its types. */
function byMostAbove({ ownTypes, peers }: ShedInputs): readonly string[] | undefined {
  const found: { readonly syncer: string; readonly above: number }[] = [];
  for (const [syncer, own] of ownTypes) {
    const counts = countsOf(peers, syncer);
    if (counts === undefined) return undefined;
    found.push({ syncer, above: own - counts.reduce((sum, count) => sum + count, own) / (counts.length + 1) });
  }
  return found.toSorted((a, b) => b.above - a.above).map(({ syncer }) => syncer);
}

/** How many of a type each of the peers has; undefined: one does not say. */
function countsOf(peers: readonly KnownPeer[], syncer: string): readonly number[] | undefined {
  const counts: number[] = [];
  for (const { types } of peers) {
    if (types === undefined) return undefined;
    counts.push(types.get(syncer) ?? 0);
  }
  return counts;
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
