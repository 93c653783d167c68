import { must, unreachable } from "@bulrush/base";
import { type MessageWriter, NLM_F, writeNfgen } from "@bulrush/netlink";
import { compileRule } from "../compile/compile-rule.ts";
import { keyShape } from "../element/key-shape.ts";
import { encodeMapElements, encodeSetElements, ipv4Words, setKeyShape } from "../element/set-elements.ts";
import { writeChain } from "../object/chain-codec.ts";
import { type KernelElement, writeElements, writeElementsHead, writeIPv4Elements } from "../object/element-codec.ts";
import { areIndependent } from "../compile/shared-statement.ts";
import {
  type RulePlace,
  writeRuleBody,
  writeRuleComment,
  writeRulePlace,
  writeRuleStatements,
} from "../object/rule-codec.ts";
import { DYNAMIC_FLAGS, type KernelSet, SET_FLAG, writeSet, writeSetRef } from "../object/set-codec.ts";
import { writeFlowtable, writeFlowtableDevices, writeFlowtableRef } from "../object/flowtable-codec.ts";
import { SetIds } from "../object/set-id.ts";
import { writeTable } from "../object/table-codec.ts";
import type { MapShape, NftOperation, SetShape, TableRef } from "../operation.ts";
import type { RuleState } from "../state.ts";
import { FAMILY_NUMBER, NFT_MSG } from "../wire/message-type.ts";
import { ANONYMOUS_SET_NAME } from "../compile/compile-match.ts";

/** How the operation's messages begin: called once for each, before its attributes are written. */
export type BeginMessage = (type: number, flags: number) => void;

/**
 * Writes operations as messages of one batch. One operation may need several: a long element list is cut, and a rule's
 * anonymous sets are made before it.
 */
export class OperationWriter {
  readonly #writer: MessageWriter;
  readonly #begin: BeginMessage;
  readonly #ids = new SetIds();
  #lastPlace: { readonly table: string; readonly chain: string; readonly bytes: Uint8Array } | undefined;

  constructor(writer: MessageWriter, begin: BeginMessage) {
    this.#writer = writer;
    this.#begin = begin;
  }

  /** Throws NFT_INVALID for what cannot be encoded; the batch is then of no use. */
  write(operation: NftOperation): void {
    const { table } = operation;
    const writer = this.#writer;
    switch (operation.kind) {
      case "add-table":
        return this.#message(NFT_MSG.NEWTABLE, add(operation), table, () =>
          writeTable(writer, table.name, operation.asleep),
        );
      case "delete-table":
        return this.#message(NFT_MSG.DELTABLE, 0, table, () => writeTable(writer, table.name));
      case "add-chain":
        return this.#message(NFT_MSG.NEWCHAIN, add(operation), table, () =>
          writeChain(writer, table.family, table.name, operation.chain, operation.base),
        );
      case "delete-chain":
        return this.#message(NFT_MSG.DELCHAIN, 0, table, () =>
          writeChain(writer, table.family, table.name, operation.chain),
        );
      case "flush-chain":
        return this.#deleteRule(table, { table: table.name, chain: operation.chain });
      case "delete-rule":
        return this.#deleteRule(table, { table: table.name, chain: operation.chain, handle: operation.handle });
      case "add-rule":
        return this.#rule(operation, NLM_F.CREATE | NLM_F.APPEND, {});
      case "insert-rule":
        return this.#rule(
          operation,
          NLM_F.CREATE,
          operation.before === undefined ? {} : { position: operation.before },
        );
      case "replace-rule":
        return this.#rule(operation, NLM_F.REPLACE, { handle: operation.handle });
      case "add-set":
        return this.#message(NFT_MSG.NEWSET, add(operation), table, () => {
          const shape = setKeyShape(operation.set);
          const order = shape.fields[0]?.order ?? "big";
          writeSet(writer, table.name, kernelSet(operation.set), this.#ids.next(), order);
        });
      case "add-map":
        return this.#message(NFT_MSG.NEWSET, add(operation), table, () => {
          const order = keyShape([operation.map.key]).fields[0]?.order ?? "big";
          writeSet(writer, table.name, kernelMap(operation.map), this.#ids.next(), order);
        });
      case "delete-set":
        return this.#message(NFT_MSG.DELSET, 0, table, () => writeSetRef(writer, table.name, operation.set));
      case "delete-map":
        return this.#message(NFT_MSG.DELSET, 0, table, () => writeSetRef(writer, table.name, operation.map));
      case "flush-set":
        return this.#message(NFT_MSG.DELSETELEM, 0, table, () => writeElementsHead(writer, table.name, operation.set));
      case "add-elements": {
        const flags = NLM_F.CREATE | (operation.exclusive === true ? NLM_F.EXCL : 0);
        return this.#setElements(NFT_MSG.NEWSETELEM, flags, table, operation.set, operation.elements);
      }
      case "delete-elements":
        return this.#setElements(NFT_MSG.DELSETELEM, 0, table, operation.set, operation.elements);
      case "add-map-elements": {
        const elements = encodeMapElements(operation.map, operation.elements);
        return this.#elements(NFT_MSG.NEWSETELEM, NLM_F.CREATE, table, operation.map.name, elements);
      }
      case "delete-map-elements": {
        const elements = encodeMapElements(
          operation.map,
          operation.keys.map((key) => [key, undefined] as const),
        );
        return this.#elements(NFT_MSG.DELSETELEM, 0, table, operation.map.name, elements);
      }
      case "add-flowtable":
        return this.#message(NFT_MSG.NEWFLOWTABLE, add(operation), table, () =>
          writeFlowtable(writer, table.name, operation.flowtable),
        );
      case "delete-flowtable":
        return this.#message(NFT_MSG.DELFLOWTABLE, 0, table, () =>
          writeFlowtableRef(writer, table.name, operation.flowtable),
        );
      case "delete-flowtable-devices":
        return this.#message(NFT_MSG.DELFLOWTABLE, 0, table, () =>
          writeFlowtableDevices(writer, table.name, operation.flowtable),
        );
      default:
        return unreachable(operation);
    }
  }

  #message(type: number, flags: number, table: TableRef, body: () => void): void {
    this.#begin(type, flags);
    writeNfgen(this.#writer, FAMILY_NUMBER[table.family]);
    body();
    this.#writer.endMessage();
  }

  #deleteRule(table: TableRef, place: RulePlace): void {
    this.#message(NFT_MSG.DELRULE, 0, table, () => writeRulePlace(this.#writer, place));
  }

  #rule(
    operation: { readonly table: TableRef; readonly chain: string; readonly rule: RuleState },
    flags: number,
    place: Partial<RulePlace>,
  ): void {
    const { table, chain, rule } = operation;
    if (areIndependent(rule.statements, table.family)) {
      this.#begin(NFT_MSG.NEWRULE, flags);
      writeNfgen(this.#writer, FAMILY_NUMBER[table.family]);
      this.#rulePlace(table.name, chain, place);
      writeRuleStatements(this.#writer, rule.statements, table.family);
      writeRuleComment(this.#writer, rule.comment);
      this.#writer.endMessage();
      return;
    }
    const compiled = compileRule(rule, table.family);
    const setIds = compiled.sets.map((set) => {
      const id = this.#ids.next();
      const anonymous: KernelSet = {
        name: ANONYMOUS_SET_NAME,
        flags: SET_FLAG.anonymous | SET_FLAG.constant | (set.interval ? SET_FLAG.interval : 0),
        keyDatatype: set.datatype,
        keyBytes: set.bytes,
        verdicts: false,
        size: set.elements.length,
      };
      this.#message(NFT_MSG.NEWSET, NLM_F.CREATE, table, () =>
        writeSet(this.#writer, table.name, anonymous, id, set.order),
      );
      this.#elements(NFT_MSG.NEWSETELEM, NLM_F.CREATE, table, ANONYMOUS_SET_NAME, set.elements, id);
      return id;
    });
    this.#message(NFT_MSG.NEWRULE, flags, table, () => {
      writeRulePlace(this.#writer, { table: table.name, chain, ...place });
      writeRuleBody(this.#writer, compiled, rule.comment, setIds);
    });
  }

  /** Rules come chain by chain: what names the chain is copied from the rule before. */
  #rulePlace(table: string, chain: string, place: Partial<RulePlace>): void {
    if (place.handle !== undefined || place.position !== undefined) {
      writeRulePlace(this.#writer, { table, chain, ...place });
      return;
    }
    if (this.#lastPlace?.table === table && this.#lastPlace.chain === chain) {
      this.#writer.raw(this.#lastPlace.bytes);
      return;
    }
    const start = this.#writer.length;
    writeRulePlace(this.#writer, { table, chain });
    this.#lastPlace = { table, chain, bytes: this.#writer.bytes.slice(start) };
  }

  #setElements(type: number, flags: number, table: TableRef, set: SetShape, texts: readonly string[]): void {
    const words = ipv4Words(set, texts);
    if (words === undefined) {
      this.#elements(type, flags, table, set.name, encodeSetElements(set, texts));
      return;
    }
    for (let next = 0; next < words.length; )
      this.#message(type, flags, table, () => {
        writeElementsHead(this.#writer, table.name, set.name);
        next = writeIPv4Elements(this.#writer, words, next);
      });
  }

  #elements(
    type: number,
    flags: number,
    table: TableRef,
    set: string,
    elements: readonly KernelElement[],
    id?: number,
  ): void {
    for (let next = 0; next < elements.length; )
      this.#message(type, flags, table, () => {
        writeElementsHead(this.#writer, table.name, set, id);
        next = writeElements(this.#writer, elements, next);
      });
  }
}

function add(operation: { readonly exclusive?: boolean }): number {
  return NLM_F.CREATE | (operation.exclusive === true ? NLM_F.EXCL : 0);
}

function kernelSet(set: SetShape): KernelSet {
  const shape = setKeyShape(set);
  return {
    name: set.name,
    flags: (set.interval ? SET_FLAG.interval : 0) | (set.dynamic === true ? DYNAMIC_FLAGS : 0),
    keyDatatype: shape.datatype,
    keyBytes: shape.bytes,
    verdicts: false,
    size: set.size,
  };
}

function kernelMap(map: MapShape): KernelSet {
  const shape = keyShape([must(map.key, "the key of a map")]);
  return {
    name: map.name,
    flags: SET_FLAG.map,
    keyDatatype: shape.datatype,
    keyBytes: shape.bytes,
    verdicts: true,
    size: undefined,
  };
}
