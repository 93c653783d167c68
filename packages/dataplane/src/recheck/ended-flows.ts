import { type NftConnection, type NftOperation, type SetShape, type TableRef, Transaction } from "@bulrush/nftables";
import type { Flow } from "@bulrush/netlink";
import { protocolLiteral } from "../render/rule/protocol.ts";
import {
  address,
  addressKey,
  COUNTER,
  DROP,
  equals,
  type Family,
  inSet,
  meta,
  port,
  verdict,
} from "../render/statements.ts";

/**
 * So long after its end a flow's packets are refused: what is on its way, and several resends of what has no answer. Not
 * longer, as policy may allow the same ports by then, or another pod have the address.
 */
const REFUSE_MS = 60_000;
/** Flows of one family that are refused at a time. */
const MAX_FLOWS = 10_000;
/** Elements of one batch: two of each flow. They fit into the smallest buffer. */
const BATCH_ELEMENTS = 2000;

/** The comment of its rules: when the last of it goes, Unix ms. */
const UNTIL = /^until (\d{1,15})$/;
const TABLE_NAME = "calico-ended";
const HOOKS = ["forward", "input"] as const;
/** A chain that no packet meets: what was to be judged is not judged yet. */
const DUE_CHAIN = "judge";
/** Ahead of all policy, and behind the translation of addresses. */
const PRIORITY = -5;

/**
 * Flows that were ended, whose ends do not know it yet. A packet of the old connection from the side that may start
 * connections would be taken for the start of a new one (nf_conntrack_tcp_loose), and the other side's for its answers:
 * so the packets of both directions are refused for a minute, TCP with a reset to the sender. Both ends hear of it when
 * they send, but for a process of this host itself, whose own packets are not held up: it has no more answers. The table
 * that does it is there only as long. It says when it goes (Unix ms, in its rules' comment), for the next process; and
 * by a chain without a hook, that flows were to be judged and were not yet, which that one makes up for.
 *
 *     add() ──write()──> table calico-ended ──1 min──> write(): without it
 *     remember() ──────> its chain "judge" ──forget()─> write(): without it
 *
 * Beyond 1,000 flows the table is written in several batches; whoever is not in it yet passes for that moment.
 * Invariants: `#until` has the elements of the table that was written last, and when each goes (monotonic ms); `#flows` has
 * the flows of those that this process has added.
 */
export class EndedFlows {
  readonly #until: Readonly<Record<Family, Map<string, number>>> = { 4: new Map(), 6: new Map() };
  readonly #flows = new Map<string, Flow>();
  readonly #changed = new Set<Family>();
  #isDue = false;

  /** When {@link write} has something to do though nothing was added. Monotonic ms. */
  get nextMs(): number | undefined {
    let next: number | undefined;
    for (const family of [4, 6] as const)
      for (const untilMs of this.#until[family].values()) next = Math.min(next ?? untilMs, untilMs);
    return next;
  }

  /** True from {@link remember} on, in whatever process, until {@link forget}. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /**
   * Flows are to be judged once a write is done: what belongs into that write, so that the next process finds it should
   * this one end before.
   */
  remember(): readonly NftOperation[] {
    this.#isDue = true;
    const table = tableOf(4);
    return new Transaction().addTable(table).addChain(table, DUE_CHAIN).operations;
  }

  /** They were judged. In the kernel with the next {@link write}. */
  forget(): void {
    if (!this.#isDue) return;
    this.#isDue = false;
    this.#changed.add(4);
  }

  /** What an earlier process has left stays as long as that one meant it to. Throws an NftError. */
  adopt(nft: NftConnection, now: Moment): void {
    for (const family of [4, 6] as const) {
      const table = nft.readTable(tableOf(family).family, TABLE_NAME);
      if (table === undefined) continue;
      this.#isDue ||= table.chains.has(DUE_CHAIN);
      const goesAtMs = Number(UNTIL.exec(table.chains.get(HOOKS[0])?.rules[0]?.comment ?? "")?.[1] ?? 0);
      // Never longer than from now on: the clock may have been set back.
      const untilMs = now.monotonicMs + Math.min(Math.max(goesAtMs - now.unixMs, 0), REFUSE_MS);
      const elements = table.sets.get(shapeOf(family).name)?.elements ?? new Set<string>();
      for (const element of elements) this.#until[family].set(element, untilMs);
      // As this one would write it: the chain is all that there is.
      if (elements.size > 0 || !this.#isDue) this.#changed.add(family);
    }
  }

  /** Flows without ports are left to the rules. Gives how many are not refused, as there are too many. */
  add(flows: readonly Flow[], nowMs: number): number {
    let left = 0;
    for (const flow of flows) {
      const { family, original, protocol, reply } = flow;
      const elements = this.#until[family];
      if (original.sourcePort === undefined || reply.sourcePort === undefined) continue;
      const name = protocolLiteral({ number: protocol });
      const start = [original.source, original.sourcePort];
      const end = [reply.source, reply.sourcePort];
      const both = [
        [name, ...start, ...end],
        [name, ...end, ...start],
      ].map((fields) => fields.join(" . "));
      if (elements.size >= 2 * MAX_FLOWS && !both.every((element) => elements.has(element))) {
        left++;
        continue;
      }
      for (const element of both) {
        elements.set(element, nowMs + REFUSE_MS);
        this.#flows.set(element, flow);
      }
      this.#changed.add(family);
    }
    return left;
  }

  /** True while there is something that {@link forgive} could ask of. */
  get isRefusing(): boolean {
    return this.#flows.size > 0;
  }

  /** Refuses from the next {@link write} on only what is denied still; what an earlier process has left goes on. */
  forgive(isDenied: (flow: Flow) => boolean): void {
    for (const [element, flow] of this.#flows) {
      if (isDenied(flow)) continue;
      this.#flows.delete(element);
      this.#until[flow.family].delete(element);
      this.#changed.add(flow.family);
    }
  }

  /** Brings the tables into the kernel, each in one stroke where it is not too large. Throws an NftError. */
  write(nft: NftConnection, now: Moment): void {
    for (const family of [4, 6] as const) {
      const elements = this.#until[family];
      let lastMs = now.monotonicMs;
      for (const [element, untilMs] of elements) {
        lastMs = Math.max(lastMs, untilMs);
        if (untilMs > now.monotonicMs) continue;
        elements.delete(element);
        this.#flows.delete(element);
        this.#changed.add(family);
      }
      if (!this.#changed.has(family)) continue;
      const goesAtMs = Math.ceil(now.unixMs + lastMs - now.monotonicMs);
      const all = [...elements.keys()];
      nft.run(tableWith(family, all.slice(0, BATCH_ELEMENTS), goesAtMs, this.#isDue && family === 4));
      for (let i = BATCH_ELEMENTS; i < all.length; i += BATCH_ELEMENTS)
        nft.run(new Transaction().addElements(tableOf(family), shapeOf(family), all.slice(i, i + BATCH_ELEMENTS)));
      this.#changed.delete(family);
    }
  }
}

/** Now, by both clocks. */
export interface Moment {
  readonly monotonicMs: number;
  readonly unixMs: number;
}

function tableOf(family: Family): TableRef {
  return { family: family === 4 ? "ip" : "ip6", name: TABLE_NAME };
}

function shapeOf(family: Family): SetShape {
  const key = ["inet_proto", addressKey(family), "inet_service", addressKey(family), "inet_service"] as const;
  return { name: "ended", key, interval: false };
}

/** The table anew, with these elements; without anything to be in it, no table. */
function tableWith(family: Family, elements: readonly string[], goesAtMs: number, isDue: boolean): Transaction {
  const table = tableOf(family);
  const transaction = new Transaction().addTable(table).deleteTable(table);
  if (elements.length === 0 && !isDue) return transaction;
  transaction.addTable(table);
  if (isDue) transaction.addChain(table, DUE_CHAIN);
  if (elements.length === 0) return transaction;
  const set = shapeOf(family);
  transaction.addSet(table, set).addElements(table, set, elements);
  const isEnded = inSet(
    {
      kind: "concat",
      parts: [meta("l4proto"), address("src", family), port("src"), address("dst", family), port("dst")],
    },
    set.name,
  );
  const reset = [equals(meta("l4proto"), "tcp"), isEnded, COUNTER, { kind: "reject", with: "tcp-reset" }] as const;
  const comment = `until ${goesAtMs}`;
  for (const hook of HOOKS)
    transaction
      .addChain(table, hook, { type: "filter", hook, priority: PRIORITY, policy: "accept" })
      .addRule(table, hook, { statements: reset, comment })
      .addRule(table, hook, { statements: [isEnded, COUNTER, verdict(DROP)], comment });
  return transaction;
}
