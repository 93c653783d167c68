import { type MessageReader, type MessageWriter, NFGEN_BYTES } from "@bulrush/netlink";
import { invalid } from "../invalid.ts";
import type { BaseChain, TableFamily } from "../state.ts";

/** enum nft_chain_attributes, nft_hook_attributes */
const NFTA_CHAIN = { TABLE: 1, HANDLE: 2, NAME: 3, HOOK: 4, POLICY: 5, USE: 6, TYPE: 7 } as const;
const NFTA_HOOK = { NUM: 1, PRIORITY: 2 } as const;

type Hook = BaseChain["hook"];
/** enum nf_inet_hooks: the index is the number. */
const IP_HOOKS: readonly Hook[] = ["prerouting", "input", "forward", "output", "postrouting"];
/** NF_ARP_IN, NF_ARP_OUT */
const ARP_HOOKS: readonly Hook[] = ["input", "output"];
/** NF_DROP, NF_ACCEPT */
const POLICIES: readonly BaseChain["policy"][] = ["drop", "accept"];
const TYPES: readonly BaseChain["type"][] = ["filter", "nat", "route"];

export function writeChain(
  writer: MessageWriter,
  family: TableFamily,
  table: string,
  name: string,
  base?: BaseChain,
): void {
  writer.attrString(NFTA_CHAIN.TABLE, table);
  writer.attrString(NFTA_CHAIN.NAME, name);
  if (base === undefined) return;
  const hooks = family === "arp" ? ARP_HOOKS : IP_HOOKS;
  const number = hooks.indexOf(base.hook);
  if (number < 0) throw invalid(`hook of a chain of family ${family}:`, base.hook);
  const hook = writer.nest(NFTA_CHAIN.HOOK);
  writer.attrU32be(NFTA_HOOK.NUM, number);
  writer.attrU32be(NFTA_HOOK.PRIORITY, base.priority >>> 0);
  writer.endNest(hook);
  writer.attrU32be(NFTA_CHAIN.POLICY, POLICIES.indexOf(base.policy));
  writer.attrString(NFTA_CHAIN.TYPE, base.type);
}

export interface DecodedChain {
  readonly table: string;
  readonly name: string;
  readonly base: BaseChain | undefined;
  /** Its rules, and the jumps to it. */
  readonly uses: number;
}

/** A base chain of a kind that we never make (netdev, ingress) reads as one without hook: it can only be deleted. */
export function readChain(message: MessageReader, family: TableFamily): DecodedChain {
  let table = "";
  let name = "";
  let hook: Hook | undefined;
  let priority = 0;
  let policy: BaseChain["policy"] = "accept";
  let type: BaseChain["type"] | undefined;
  let uses = 0;
  const attributes = message.attributes(NFGEN_BYTES);
  while (attributes.next()) {
    if (attributes.type === NFTA_CHAIN.TABLE) table = attributes.string();
    else if (attributes.type === NFTA_CHAIN.NAME) name = attributes.string();
    else if (attributes.type === NFTA_CHAIN.USE) uses = attributes.u32be();
    else if (attributes.type === NFTA_CHAIN.POLICY) policy = POLICIES[attributes.u32be()] ?? "accept";
    else if (attributes.type === NFTA_CHAIN.TYPE) {
      const text = attributes.string();
      type = TYPES.find((known) => known === text);
    } else if (attributes.type === NFTA_CHAIN.HOOK) {
      const nested = attributes.nested();
      while (nested.next()) {
        if (nested.type === NFTA_HOOK.NUM) hook = (family === "arp" ? ARP_HOOKS : IP_HOOKS)[nested.u32be()];
        else if (nested.type === NFTA_HOOK.PRIORITY) priority = nested.u32be() | 0;
      }
    }
  }
  const base = hook === undefined || type === undefined ? undefined : { type, hook, priority, policy };
  return { table, name, base, uses };
}
