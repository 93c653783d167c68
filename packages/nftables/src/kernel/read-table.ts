import { must } from "@bulrush/base";
import { hasErrno, type MessageReader, type MessageWriter, type NetlinkSocket, writeNfgen } from "@bulrush/netlink";
import { anonymousSetKey } from "../compile/anonymous-set.ts";
import { keyFieldsOf, keyShape } from "../element/key-shape.ts";
import { decodeMapElements, decodeSetElements } from "../element/set-elements.ts";
import { type Expression, expressionKey, type ReadExpression } from "../expression/expression.ts";
import { type DecodedChain, readChain } from "../object/chain-codec.ts";
import { type KernelElement, readElements, readIPv4Elements, writeElementsHead } from "../object/element-codec.ts";
import { readFlowtable, writeFlowtableRef } from "../object/flowtable-codec.ts";
import { type DecodedRule, readRule, writeRulePlace } from "../object/rule-codec.ts";
import { type DecodedSet, DYNAMIC_FLAGS, readSet, SET_FLAG, writeSetRef } from "../object/set-codec.ts";
import { readIsAsleep, writeTable } from "../object/table-codec.ts";
import type { TableRef } from "../operation.ts";
import type {
  ChainReadback,
  CountedRule,
  FlowtableReadback,
  MapReadback,
  RuleReadback,
  SetReadback,
  TableReadback,
} from "../readback.ts";
import type { KeyField } from "../state.ts";
import { DATATYPE } from "../wire/datatype.ts";
import { FAMILY_NUMBER, NFT_MSG } from "../wire/message-type.ts";

/** Flags of sets that we make, and NFT_SET_CONCAT, which nft adds. A set with any other is not one of ours. */
const OWN_FLAGS = SET_FLAG.interval | SET_FLAG.map | 0x80;
const OWN_DYNAMIC_FLAGS = DYNAMIC_FLAGS | 0x80;

/** Reads a table, whatever the generation does meanwhile. `undefined` when there is none. */
export function readTableOnce(socket: NetlinkSocket, table: TableRef, generation: number): TableReadback | undefined {
  const family = FAMILY_NUMBER[table.family];
  const asleep = isAsleep(socket, family, table.name);
  if (asleep === undefined) return undefined;

  const sets = list(
    socket,
    "List sets",
    NFT_MSG.GETSET,
    family,
    (writer) => writeSetRef(writer, table.name, ""),
    readSet,
  );
  const elements = new Map<string, KernelElement[]>();
  const addresses = new Map<string, Set<string>>();
  for (const set of sets) {
    if (set.table !== table.name) continue;
    const texts = isPlainIPv4(set) ? listAddresses(socket, family, set) : undefined;
    if (texts === undefined) elements.set(set.name, listElements(socket, family, set));
    else addresses.set(set.name, texts);
  }

  const chains = new Map<string, ChainReadback & { readonly rules: RuleReadback[] }>();
  const listed = listChains(socket, table);
  for (const { base, name } of listed) chains.set(name, { name, ...(base === undefined ? {} : { base }), rules: [] });
  const anonymous = anonymousKeys(sets, elements, table.name);
  const keys = new Map<string, string>();
  listRules(socket, table, listed, (rule) => {
    chains.get(rule.chain)?.rules.push(ruleReadback(rule, anonymous, keys));
  });

  const named = sets.filter((set) => set.table === table.name && (set.flags & SET_FLAG.anonymous) === 0);
  const isMap = (set: DecodedSet): boolean => (set.flags & SET_FLAG.map) !== 0;
  return {
    kind: "readback",
    family: table.family,
    name: table.name,
    generation,
    asleep,
    chains,
    sets: new Map(named.filter((set) => !isMap(set)).map((set) => [set.name, setReadback(set, elements, addresses)])),
    maps: new Map(named.filter(isMap).map((set) => [set.name, mapReadback(set, elements)])),
    flowtables: new Map(listFlowtables(socket, table).map((flowtable) => [flowtable.name, flowtable])),
  };
}

/** The flow tables of a table; none when there is no table. A kernel without flow tables lists none. */
export function listFlowtables(socket: NetlinkSocket, table: TableRef): FlowtableReadback[] {
  const attributes = (writer: MessageWriter): void => writeFlowtableRef(writer, table.name, "");
  return list(socket, "List flow tables", NFT_MSG.GETFLOWTABLE, FAMILY_NUMBER[table.family], attributes, (message) => {
    const { devices, isOwnKind, name, table: owner } = readFlowtable(message);
    return owner === table.name ? { name, isOwnKind, devices } : undefined;
  });
}

/** All rules of a table with their counters; none when there is no table. */
export function listCountedRules(socket: NetlinkSocket, table: TableRef): CountedRule[] {
  const counted: CountedRule[] = [];
  listRules(socket, table, listChains(socket, table), ({ chain, comment, expressions }) => {
    counted.push(countedRule(chain, comment, expressions));
  });
  return counted;
}

function listChains(socket: NetlinkSocket, { family, name }: TableRef): DecodedChain[] {
  return list(
    socket,
    "List chains",
    NFT_MSG.GETCHAIN,
    FAMILY_NUMBER[family],
    () => {},
    (message) => {
      const chain = readChain(message, family);
      return chain.table === name ? chain : undefined;
    },
  );
}

/**
 * At each datagram of a listing, the kernel counts its way from the first rule of the table to where it was: beyond this
 * many rules it is asked for one chain at a time.
 */
const LIST_TOGETHER = 20_000;

/** Hands each rule of a table over, chain by chain, in order. */
function listRules(
  socket: NetlinkSocket,
  table: TableRef,
  chains: readonly DecodedChain[],
  take: (rule: DecodedRule) => void,
): void {
  let uses = 0;
  for (const chain of chains) uses += chain.uses;
  const names = uses <= LIST_TOGETHER ? [""] : chains.filter((chain) => chain.uses > 0).map(({ name }) => name);
  for (const chain of names) {
    const place = { table: table.name, chain };
    const attributes = (writer: MessageWriter): void => writeRulePlace(writer, place);
    const rules = list(socket, "List rules", NFT_MSG.GETRULE, FAMILY_NUMBER[table.family], attributes, readRule);
    for (const rule of rules) if (rule.table === table.name) take(rule);
  }
}

function countedRule(chain: string, comment: string | undefined, expressions: readonly ReadExpression[]): CountedRule {
  const counter = counterOf(expressions);
  let target: string | undefined;
  for (const { expression } of expressions) target ??= targetOf(expression);
  return {
    chain,
    ...(comment === undefined ? {} : { comment }),
    ...(target === undefined ? {} : { target }),
    ...(counter === undefined ? {} : { counter: { packets: counter.packets, bytes: counter.bytes } }),
  };
}

function targetOf(expression: Expression): string | undefined {
  if (expression.name !== "immediate" || expression.data === undefined || expression.data instanceof Uint8Array)
    return undefined;
  return "chain" in expression.data ? expression.data.chain : undefined;
}

/** `undefined`: there is no such table. */
function isAsleep(socket: NetlinkSocket, family: number, name: string): boolean | undefined {
  let asleep = false;
  try {
    socket.request(
      "Get table",
      NFT_MSG.GETTABLE,
      0,
      (writer) => {
        writeNfgen(writer, family);
        writeTable(writer, name);
      },
      (message) => {
        asleep = readIsAsleep(message);
      },
    );
    return asleep;
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

function list<T>(
  socket: NetlinkSocket,
  op: string,
  type: number,
  family: number,
  attributes: (writer: MessageWriter) => void,
  decode: Parameters<typeof socket.dump<T>>[3],
): T[] {
  return socket.dump(
    op,
    type,
    (writer) => {
      writeNfgen(writer, family);
      attributes(writer);
    },
    decode,
  );
}

function listElements(socket: NetlinkSocket, family: number, { name, table }: DecodedSet): KernelElement[] {
  const chunks = list(
    socket,
    "List set elements",
    NFT_MSG.GETSETELEM,
    family,
    (writer) => writeElementsHead(writer, table, name),
    (message) => {
      const chunk: KernelElement[] = [];
      readElements(message, chunk);
      return chunk;
    },
  );
  return chunks.length === 1 ? (chunks[0] ?? []) : chunks.flat();
}

/** A plain set of IPv4 addresses, as most sets are: read without an object for each element. */
function isPlainIPv4(set: DecodedSet): boolean {
  return set.flags === 0 && set.keyDatatype === DATATYPE.ipv4_addr && set.keyBytes === 4;
}

/** The canonical texts of such a set; `undefined` when an element has more to it than its address. */
function listAddresses(socket: NetlinkSocket, family: number, { name, table }: DecodedSet): Set<string> | undefined {
  let texts = new Set<string>();
  let isPlain = true;
  const decode = (message: MessageReader): undefined => {
    isPlain = isPlain && readIPv4Elements(message, texts);
  };
  // A dump that was interrupted begins again.
  const begin = (writer: MessageWriter): void => {
    texts = new Set();
    writeElementsHead(writer, table, name);
  };
  list(socket, "List set elements", NFT_MSG.GETSETELEM, family, begin, decode);
  return isPlain ? texts : undefined;
}

/** What stands for each anonymous set in the keys of rules. */
function anonymousKeys(
  sets: readonly DecodedSet[],
  elements: ReadonlyMap<string, readonly KernelElement[]>,
  table: string,
): ReadonlyMap<string, string> {
  const keys = new Map<string, string>();
  for (const set of sets) {
    if (set.table !== table || (set.flags & SET_FLAG.anonymous) === 0) continue;
    const key = anonymousSetKey({
      datatype: set.keyDatatype,
      interval: (set.flags & SET_FLAG.interval) !== 0,
      elements: elements.get(set.name) ?? [],
    });
    // A map's verdicts are not in that text; we make no anonymous maps, so its own name keeps it apart from ours.
    keys.set(set.name, (set.flags & SET_FLAG.map) === 0 ? key : `anonymous map ${set.name}`);
  }
  return keys;
}

/** The first counter of a rule. */
function counterOf(expressions: readonly ReadExpression[]): Extract<Expression, { name: "counter" }> | undefined {
  for (const { expression } of expressions) if (expression.name === "counter") return expression;
  return undefined;
}

/** `keys` has those of the rules before: many rules of a host are alike, and are to share one text. */
function ruleReadback(
  rule: DecodedRule,
  anonymous: ReadonlyMap<string, string>,
  keys: Map<string, string>,
): RuleReadback {
  const made = rule.expressions.map((read) => keyOf(read, anonymous)).join("; ");
  const key = keys.get(made) ?? made;
  if (key === made) keys.set(made, made);
  const counter = counterOf(rule.expressions);
  return {
    handle: rule.handle,
    ...(rule.comment === undefined ? {} : { comment: rule.comment }),
    key,
    ...(counter === undefined ? {} : { counter: { packets: counter.packets, bytes: counter.bytes } }),
  };
}

function keyOf({ expression, key }: ReadExpression, anonymous: ReadonlyMap<string, string>): string {
  if (expression.name !== "lookup") return key;
  const contents = anonymous.get(expression.set);
  return contents === undefined ? key : expressionKey(expression, () => contents);
}

/** The fields of the key, or `undefined` for a set that is not one of ours. Its type number may lie about its length. */
function ownKey(set: DecodedSet, flags: number): KeyField[] | undefined {
  if ((set.flags & ~flags) !== 0) return undefined;
  const key = keyFieldsOf(set.keyDatatype);
  return key !== undefined && keyShape(key).bytes === set.keyBytes ? key : undefined;
}

function setReadback(
  set: DecodedSet,
  elements: ReadonlyMap<string, readonly KernelElement[]>,
  addresses: ReadonlyMap<string, ReadonlySet<string>>,
): SetReadback {
  const interval = (set.flags & SET_FLAG.interval) !== 0;
  const dynamic = (set.flags & DYNAMIC_FLAGS) === DYNAMIC_FLAGS;
  const key = ownKey(set, dynamic ? OWN_DYNAMIC_FLAGS : OWN_FLAGS);
  const size = set.size === undefined ? {} : { size: set.size };
  if (key === undefined || (interval && key.length > 1))
    return { name: set.name, key: undefined, interval, ...size, elements: new Set() };
  if (dynamic) return { name: set.name, key, interval, ...size, dynamic, elements: new Set() };
  const texts =
    addresses.get(set.name) ??
    decodeSetElements(keyShape(key), interval, must(elements.get(set.name), "the elements of a set"));
  return { name: set.name, key, interval, ...size, elements: texts };
}

function mapReadback(set: DecodedSet, elements: ReadonlyMap<string, readonly KernelElement[]>): MapReadback {
  const key = set.verdicts ? ownKey(set, SET_FLAG.map) : undefined;
  const [only] = key ?? [];
  if (only === undefined || key?.length !== 1) return { name: set.name, key: undefined, elements: new Map() };
  const verdicts = decodeMapElements(keyShape([only]), must(elements.get(set.name), "the elements of a map"));
  return { name: set.name, key: only, elements: verdicts };
}
