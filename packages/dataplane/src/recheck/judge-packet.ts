import { containsAddress, parseAddress, parseCidr } from "@bulrush/ip";
import { CT_STATE, type Literal, type Operand, type Right, type Statement, type TableState } from "@bulrush/nftables";
import { protocolLiteral } from "../render/rule/protocol.ts";
import type { JudgedPacket } from "./judged-packet.ts";
import { SetContents } from "./set-contents.ts";

/** `unknown`: it takes more than is known of the packet. */
export type Judgement = "accept" | "drop" | "unknown";

type Match = boolean | "unknown";
/** `undefined`: not known. */
type Value = Literal | undefined;
/** How a chain ends: `end` is its last rule, or a return. */
type ChainEnd = Judgement | "end";

/** A chain that leads back to itself is refused by the kernel; this only keeps a fault of ours from going on for ever. */
const MAX_DEPTH = 32;

/** A packet and the marks that it has by now. */
interface Walk {
  readonly packet: JudgedPacket;
  mark: number;
}

/**
 * What the rules of one table make of packets that start a flow, without the kernel: rules are walked as nf_tables walks
 * them. A limit is taken as not reached, so that policy alone decides. What cannot be known of a packet makes the answer
 * `unknown`, never a guess.
 */
export class PacketJudge {
  readonly #table: TableState;
  readonly #sets: SetContents;

  /** The table must not change while the judge is in use. */
  constructor(table: TableState) {
    this.#table = table;
    this.#sets = new SetContents(table.sets);
  }

  /**
   * Of the base chains that are named, in this order; a chain that is not there lets everything through. Marks go on from
   * one to the next.
   */
  judge(packet: JudgedPacket, baseChains: readonly (readonly [name: string, packet?: JudgedPacket])[]): Judgement {
    let mark = 0;
    for (const [name, seen] of baseChains) {
      if (!this.#table.chains.has(name)) continue;
      const walk: Walk = { packet: seen ?? packet, mark };
      const end = this.#walkChain(name, walk, 0);
      if (end === "drop" || end === "unknown") return end;
      ({ mark } = walk);
    }
    return "accept";
  }

  #walkChain(name: string, walk: Walk, depth: number): ChainEnd {
    const chain = this.#table.chains.get(name);
    if (chain === undefined || depth > MAX_DEPTH) return "unknown";
    for (const { statements } of chain.rules) {
      const end = this.#walkRule(statements, walk, depth);
      if (end === "return") return "end";
      if (end !== "next") return end;
    }
    return "end";
  }

  #walkRule(statements: readonly Statement[], walk: Walk, depth: number): ChainEnd | "next" | "return" {
    for (const statement of statements) {
      switch (statement.kind) {
        case "match": {
          const holds = this.#matches(statement, walk);
          if (holds === "unknown") return "unknown";
          if (!holds) return "next";
          break;
        }
        case "limit":
        case "connlimit":
          if (statement.over) return "next";
          break;
        case "set-mark":
          walk.mark = ((walk.mark & ~statement.mask) | statement.value) >>> 0;
          break;
        case "reject":
          return "drop";
        case "vmap": {
          const key = this.#value(statement.key, walk);
          if (key === undefined) return "unknown";
          const verdict = this.#table.maps.get(statement.map)?.elements.get(String(key));
          if (verdict !== undefined) return this.#follow(verdict, walk, depth);
          break;
        }
        case "verdict":
          return this.#follow(statement.verdict, walk, depth);
        // What changes a packet, or tells of it, decides nothing.
        default:
      }
    }
    return "next";
  }

  #follow(
    verdict: Extract<Statement, { kind: "verdict" }>["verdict"],
    walk: Walk,
    depth: number,
  ): ChainEnd | "next" | "return" {
    switch (verdict.kind) {
      case "accept":
      case "drop":
        return verdict.kind;
      case "return":
        return "return";
      case "continue":
        return "next";
      case "goto": {
        const end = this.#walkChain(verdict.chain, walk, depth + 1);
        return end === "end" ? "return" : end;
      }
      case "jump": {
        const end = this.#walkChain(verdict.chain, walk, depth + 1);
        return end === "end" ? "next" : end;
      }
    }
  }

  #matches({ left, op, right }: Extract<Statement, { kind: "match" }>, walk: Walk): Match {
    const value = this.#value(left, walk);
    if (value === undefined) return "unknown";
    const holds = this.#compare(value, right);
    if (holds === "unknown") return "unknown";
    return op === "==" ? holds : !holds;
  }

  #value(operand: Operand, { mark, packet }: Walk): Value {
    switch (operand.kind) {
      case "payload":
        return payloadOf(operand.field, packet);
      case "meta":
        if (operand.key === "mark") return mark;
        if (operand.key === "iifname") return packet.inInterface;
        if (operand.key === "oifname") return packet.outInterface;
        return operand.key === "l4proto" ? protocolLiteral({ number: packet.protocol }) : undefined;
      case "ct":
        if (operand.key === "state") return CT_STATE.new;
        return operand.key === "status" ? packet.status : undefined;
      case "concat": {
        const parts = operand.parts.map((part) => this.#value(part, { mark, packet }));
        return parts.includes(undefined) ? undefined : parts.join(" . ");
      }
      default:
        return undefined;
    }
  }

  #compare(value: Literal, right: Right): Match {
    switch (right.kind) {
      case "value":
        return String(value) === String(right.value);
      case "masked":
        return (Number(value) & right.mask) >>> 0 === right.value >>> 0;
      case "prefix":
        return String(value).startsWith(right.prefix);
      case "range":
        return Number(value) >= right.first && Number(value) <= right.last;
      case "anonymous":
        return right.elements.some((element) =>
          typeof element === "object"
            ? Number(value) >= element.first && Number(value) <= element.last
            : String(element) === String(value),
        );
      case "cidr": {
        const cidr = parseCidr(right.cidr);
        const address = parseAddress(String(value));
        return cidr === undefined || address === undefined ? "unknown" : containsAddress(cidr, address);
      }
      case "set":
        return this.#sets.has(right.name, String(value)) ?? "unknown";
    }
  }
}

function payloadOf(field: Extract<Operand, { kind: "payload" }>["field"], packet: JudgedPacket): Literal | undefined {
  switch (field) {
    case "ip saddr":
    case "ip6 saddr":
      return packet.source;
    case "ip daddr":
    case "ip6 daddr":
      return packet.destination;
    case "th sport":
      return packet.sourcePort;
    case "th dport":
      return packet.destinationPort;
    default:
      return undefined;
  }
}
