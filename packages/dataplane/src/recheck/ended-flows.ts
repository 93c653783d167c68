import { type NftConnection, type SetShape, type TableRef, Transaction } from "@bulrush/nftables";
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

/** So long after its end a flow's packets are refused. By then both ends have had their answer, or the flow is idle. */
const REFUSE_MS = 600_000;
/** Flows of one family that are refused at a time; both directions of each fit into one batch. */
const MAX_FLOWS = 1000;

const TABLE_NAME = "calico-ended";
const HOOKS = ["forward", "input"] as const;
/** Ahead of all policy, and behind the translation of addresses. */
const PRIORITY = -5;

/**
 * Flows that were ended, whose ends do not know it yet. A packet of the old connection from the side that may start
 * connections would be taken for the start of a new one (nf_conntrack_tcp_loose), and the other side's for its answers:
 * so the packets of both directions are refused for ten minutes, TCP with a reset, which ends the connection at both
 * ends. The table that does it is there only as long.
 *
 *     add() ──write()──> table calico-ended ──10 min──> write(): without it
 *
 * Invariant: `#until` has the elements of the table that was written last, and when each goes.
 */
export class EndedFlows {
  readonly #until: Readonly<Record<Family, Map<string, number>>> = { 4: new Map(), 6: new Map() };
  readonly #changed = new Set<Family>();

  /** When {@link write} has something to do though nothing was added. Monotonic ms. */
  get nextMs(): number | undefined {
    const all = [...this.#until[4].values(), ...this.#until[6].values()];
    return all.length === 0 ? undefined : Math.min(...all);
  }

  /** What an earlier process has left stays as long as if it had been added now. Throws an NftError. */
  adopt(nft: NftConnection, nowMs: number): void {
    for (const family of [4, 6] as const) {
      const set = nft.readTable(tableOf(family).family, TABLE_NAME)?.sets.get(shapeOf(family).name);
      for (const element of set?.elements ?? []) this.#until[family].set(element, nowMs + REFUSE_MS);
    }
  }

  /** Flows without ports are left to the rules. */
  add(flows: readonly Flow[], nowMs: number): void {
    for (const { family, original, protocol, reply } of flows) {
      const elements = this.#until[family];
      if (original.sourcePort === undefined || reply.sourcePort === undefined) continue;
      if (elements.size >= 2 * MAX_FLOWS) continue;
      const name = protocolLiteral({ number: protocol });
      const start = [original.source, original.sourcePort];
      const end = [reply.source, reply.sourcePort];
      for (const fields of [
        [name, ...start, ...end],
        [name, ...end, ...start],
      ])
        elements.set(fields.join(" . "), nowMs + REFUSE_MS);
      this.#changed.add(family);
    }
  }

  /** Brings the tables into the kernel, each in one stroke. Throws an NftError. */
  write(nft: NftConnection, nowMs: number): void {
    for (const family of [4, 6] as const) {
      const elements = this.#until[family];
      for (const [element, untilMs] of elements)
        if (untilMs <= nowMs) {
          elements.delete(element);
          this.#changed.add(family);
        }
      if (!this.#changed.has(family)) continue;
      nft.run(tableWith(family, [...elements.keys()]));
      this.#changed.delete(family);
    }
  }
}

function tableOf(family: Family): TableRef {
  return { family: family === 4 ? "ip" : "ip6", name: TABLE_NAME };
}

function shapeOf(family: Family): SetShape {
  const key = ["inet_proto", addressKey(family), "inet_service", addressKey(family), "inet_service"] as const;
  return { name: "ended", key, interval: false };
}

/** The table anew, with these elements; without any, no table. */
function tableWith(family: Family, elements: readonly string[]): Transaction {
  const table = tableOf(family);
  const transaction = new Transaction().addTable(table).deleteTable(table);
  if (elements.length === 0) return transaction;
  const set = shapeOf(family);
  transaction.addTable(table).addSet(table, set).addElements(table, set, elements);
  const isEnded = inSet(
    {
      kind: "concat",
      parts: [meta("l4proto"), address("src", family), port("src"), address("dst", family), port("dst")],
    },
    set.name,
  );
  const reset = [equals(meta("l4proto"), "tcp"), isEnded, COUNTER, { kind: "reject", with: "tcp-reset" }] as const;
  for (const hook of HOOKS)
    transaction
      .addChain(table, hook, { type: "filter", hook, priority: PRIORITY, policy: "accept" })
      .addRule(table, hook, { statements: reset })
      .addRule(table, hook, { statements: [isEnded, COUNTER, verdict(DROP)] });
  return transaction;
}
