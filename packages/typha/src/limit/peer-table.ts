import type { KnownPeer } from "./plan-shed.ts";
import type { ServerLoad } from "./server-load.ts";
import type { TyphaEndpoint } from "./typha-endpoints.ts";

const NONE: ReadonlyMap<string, number> = new Map();

/** A load that is older says nothing any more: two answers in a row are missing. */
const MAX_AGE_MS = 25_000;

interface Entry {
  readonly endpoint: TyphaEndpoint;
  address: string;
  load: ServerLoad | undefined;
  loadAtMs: number;
  /** Clients that were sent there since its answer; those whose type is known are in `sentTypes` too. */
  sent: number;
  sentTypes: ReadonlyMap<string, number>;
}

/**
 * The servers of the Service, and what each has said of its load. Times are monotonic.
 *
 * Invariant: one entry per endpoint of the last list, this server's own among them until it has answered itself.
 */
export class PeerTable {
  readonly #instance: string;
  #entries = new Map<string, Entry>();
  /** Endpoints that turned out to be this server. */
  #own = new Set<string>();

  constructor(instance: string) {
    this.#instance = instance;
  }

  setEndpoints(endpoints: readonly TyphaEndpoint[]): void {
    const before = this.#entries;
    this.#own = new Set(endpoints.map(({ id }) => id).filter((id) => this.#own.has(id)));
    this.#entries = new Map();
    for (const endpoint of endpoints) {
      if (this.#own.has(endpoint.id)) continue;
      const known = before.get(endpoint.id);
      const [address = ""] = endpoint.addresses;
      const fresh: Entry = { endpoint, address, load: undefined, loadAtMs: 0, sent: 0, sentTypes: NONE };
      const keep = known !== undefined && endpoint.addresses.includes(known.address);
      this.#entries.set(endpoint.id, keep ? { ...known, endpoint } : fresh);
    }
  }

  /** Whom to ask; the address that answered last comes first. */
  toAsk(): readonly TyphaEndpoint[] {
    return [...this.#entries.values()].map(({ endpoint, address }) => ({
      id: endpoint.id,
      addresses: [address, ...endpoint.addresses.filter((other) => other !== address)],
    }));
  }

  answered(id: string, address: string, load: ServerLoad, nowMs: number): void {
    if (load.instance === this.#instance) {
      this.#entries.delete(id);
      this.#own.add(id);
      return;
    }
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.address = address;
    entry.load = load;
    entry.loadAtMs = nowMs;
    entry.sent = 0;
    entry.sentTypes = NONE;
  }

  /** A client was told to go there. `type`: of its stream, where that is known. */
  sent(address: string, type?: string): void {
    const entry = this.#at(address);
    if (entry === undefined) return;
    entry.sent++;
    if (type !== undefined) entry.sentTypes = addCounts(entry.sentTypes, [[type, 1]]);
  }

  /** It does not answer: nothing is known of it any more. */
  silent(id: string): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined) entry.load = undefined;
  }

  /** Which endpoint answers at that address. */
  idOf(address: string): string | undefined {
    return this.#at(address)?.endpoint.id;
  }

  /** The servers that take clients, of which something is known. */
  known(nowMs: number): readonly KnownPeer[] {
    return [...this.#entries.values()].flatMap((entry) => {
      const load = fresh(entry, nowMs);
      if (load?.takesClients !== true) return [];
      const { address, sent, sentTypes } = entry;
      const types = load.types === undefined ? undefined : addCounts(sentTypes, Object.entries(load.types));
      return [{ address, streams: load.streams + sent, types, limit: load.limit }];
    });
  }

  /** Streams of all other servers; undefined while one has not said. */
  total(nowMs: number): number | undefined {
    let sum = 0;
    for (const entry of this.#entries.values()) {
      const load = fresh(entry, nowMs);
      if (load === undefined) return undefined;
      sum += load.streams;
    }
    return sum;
  }

  list(nowMs: number): readonly { readonly address: string; readonly load: ServerLoad | undefined }[] {
    return [...this.#entries.values()].map((entry) => ({ address: entry.address, load: fresh(entry, nowMs) }));
  }

  #at(address: string): Entry | undefined {
    return [...this.#entries.values()].find((entry) => entry.address === address);
  }
}

function addCounts(
  counts: ReadonlyMap<string, number>,
  more: Iterable<readonly [type: string, count: number]>,
): ReadonlyMap<string, number> {
  const sum = new Map(counts);
  for (const [type, count] of more) sum.set(type, (sum.get(type) ?? 0) + count);
  return sum;
}

function fresh({ load, loadAtMs }: Entry, nowMs: number): ServerLoad | undefined {
  return nowMs - loadAtMs <= MAX_AGE_MS ? load : undefined;
}
