import { MessageWriter } from "@bulrush/netlink";
import { constants } from "node:os";
import { ruleKey } from "../compile/rule-key.ts";
import type { NftConnection } from "../connection.ts";
import { formatInterval } from "../element/interval.ts";
import { decodeKey, keyShape } from "../element/key-shape.ts";
import { setKeyShape } from "../element/set-elements.ts";
import { NFT_ERROR_CODES, NftError, type NftFailure } from "../errors.ts";
import { encodeTransaction } from "../kernel/encode-transaction.ts";
import { describeOperation } from "../operation.ts";
import type {
  ChainReadback,
  CountedRule,
  FlowtableReadback,
  MapReadback,
  SetReadback,
  TableReadback,
} from "../readback.ts";
import type { TableFamily } from "../state.ts";
import type { Statement } from "../statement.ts";
import { Transaction } from "../transaction.ts";
import { FakeOperations, FakeRefusal } from "./fake-operations.ts";
import { type FakeChain, type FakeMap, type FakeSet, type FakeTable, tableKey } from "./fake-state.ts";

/** The kernel and machine that the fake stands for. */
export interface FakeNftOptions {
  /** Largest transaction in bytes, as the send buffer bounds it. Default 64 MiB. */
  readonly maxTransactionBytes?: number;
  /** Whether there is a network device of this name, for flow tables. Default: there is. */
  readonly hasDevice?: (name: string) => boolean;
  /** False for a kernel without flow tables. Default: true. */
  readonly hasFlowtables?: boolean;
  /** Statements that this kernel does not have (ENOENT). Default: none. */
  readonly missingStatements?: ReadonlySet<Statement["kind"]>;
}

/**
 * nf_tables in memory, held to the same tests as the kernel's: references, overlaps, verdict clashes, generations, all
 * or nothing. What it does not know: it runs no packets, counters stay zero, chains that lead in circles (EMLINK) and
 * statements at the wrong hook (EOPNOTSUPP) are not found.
 *
 * Besides, for tests: a count of calls, errors to be thrown by the next ones, and edits behind the program's back.
 */
export class FakeNft implements NftConnection {
  readonly #maxBytes: number;
  readonly #kernel: Required<Omit<FakeNftOptions, "maxTransactionBytes">>;
  #tables: ReadonlyMap<string, FakeTable> = new Map();
  #generation = 1;
  #lastHandle = 0;
  #runErrors: Error[] = [];
  #readErrors: Error[] = [];
  /** Transactions that were done, oldest first; those of {@link edit} are not among them. */
  readonly transactions: Transaction[] = [];
  /** Tables that were read, with or without success. */
  reads = 0;

  constructor(options: FakeNftOptions = {}) {
    this.#maxBytes = options.maxTransactionBytes ?? 64 * 1024 * 1024;
    const { hasDevice = () => true, hasFlowtables = true, missingStatements = new Set() } = options;
    this.#kernel = { hasDevice, hasFlowtables, missingStatements };
  }

  generation(): number {
    return this.#generation;
  }

  run(transaction: Transaction, options: { readonly expectedGeneration?: number } = {}): void {
    if (transaction.isEmpty) return;
    const injected = this.#runErrors.shift();
    if (injected !== undefined) throw injected;
    this.#checkEncoding(transaction);
    if (options.expectedGeneration !== undefined && options.expectedGeneration !== this.#generation)
      throw new NftError("Transaction refused: the ruleset changed since it was planned", {
        code: NFT_ERROR_CODES.staleGeneration,
        op: "Run transaction",
      });
    this.#commit(transaction);
    this.transactions.push(transaction);
  }

  readTable(family: TableFamily, name: string): TableReadback | undefined {
    this.reads++;
    const injected = this.#readErrors.shift();
    if (injected !== undefined) throw injected;
    const table = this.#tables.get(tableKey({ family, name }));
    if (table === undefined) return undefined;
    const sets = [...table.sets.values()];
    return {
      kind: "readback",
      family,
      name,
      generation: this.#generation,
      asleep: table.asleep,
      chains: new Map(Array.from(table.chains, ([chain, state]) => [chain, chainReadback(chain, state, family)])),
      sets: new Map(sets.filter((set) => set.kind === "set").map((set) => [set.shape.name, setReadback(set)])),
      maps: new Map(sets.filter((set) => set.kind === "map").map((map) => [map.shape.name, mapReadback(map)])),
      flowtables: new Map(flowtablesOf(table).map((flowtable) => [flowtable.name, flowtable])),
    };
  }

  rules(family: TableFamily, name: string): CountedRule[] {
    const table = this.#tables.get(tableKey({ family, name }));
    return [...(table?.chains ?? [])].flatMap(([chain, { rules }]) =>
      rules.map(({ rule }): CountedRule => {
        const verdicts = rule.statements.flatMap((statement) =>
          statement.kind === "verdict" ? [statement.verdict] : [],
        );
        const target = verdicts.flatMap((verdict) => ("chain" in verdict ? [verdict.chain] : []))[0];
        return {
          chain,
          ...(rule.comment === undefined ? {} : { comment: rule.comment }),
          ...(target === undefined ? {} : { target }),
          ...(rule.statements.some(({ kind }) => kind === "counter") ? { counter: { packets: 0n, bytes: 0n } } : {}),
        };
      }),
    );
  }

  flowtables(family: TableFamily, name: string): FlowtableReadback[] {
    const table = this.#tables.get(tableKey({ family, name }));
    return table === undefined ? [] : flowtablesOf(table);
  }

  /** A device goes, and with it its place in all flow tables: nothing is told of it. */
  dropDevice(device: string): void {
    for (const { flowtables } of this.#tables.values())
      for (const [name, devices] of flowtables)
        flowtables.set(name, new Set([...devices].filter((other) => other !== device)));
  }

  close(): void {}

  /** The next `times` transactions that are not empty throw this, and nothing is done. */
  failRuns(error: Error, times = 1): void {
    for (let i = 0; i < times; i++) this.#runErrors.push(error);
  }

  /** The next `times` reads of a table throw this. */
  failReads(error: Error, times = 1): void {
    for (let i = 0; i < times; i++) this.#readErrors.push(error);
  }

  /** Changes the ruleset as another program would. */
  edit(change: (transaction: Transaction) => void): void {
    const transaction = new Transaction();
    change(transaction);
    this.#commit(transaction);
  }

  /** What cannot be encoded, or is too large to send, fails as it does in front of the kernel. */
  #checkEncoding(transaction: Transaction): void {
    const writer = new MessageWriter();
    let seq = 0;
    encodeTransaction(transaction, writer, () => ++seq, undefined);
    if (writer.length > this.#maxBytes)
      throw new NftError(`Transaction of ${writer.length} bytes is over the limit of ${this.#maxBytes}`, {
        code: NFT_ERROR_CODES.tooLarge,
        op: "Run transaction",
        data: { bytes: writer.length, limit: this.#maxBytes },
      });
  }

  #commit(transaction: Transaction): void {
    let handle = this.#lastHandle;
    const operations = new FakeOperations(this.#tables, () => ++handle, this.#kernel);
    const failures: NftFailure[] = [];
    for (const [index, operation] of transaction.operations.entries()) {
      try {
        operations.apply(operation);
      } catch (error) {
        if (!(error instanceof FakeRefusal)) throw error;
        const errno = constants.errno[error.errnoName];
        failures.push({ index, operation: describeOperation(operation), errno, errnoName: error.errnoName });
      }
    }
    const [first] = failures;
    if (first !== undefined)
      throw new NftError(`Transaction refused: ${first.operation}: ${first.errnoName}`, {
        code: NFT_ERROR_CODES.refused,
        op: "Run transaction",
        failures,
      });
    this.#tables = operations.tables;
    this.#lastHandle = handle;
    if (operations.changed) this.#generation++;
  }
}

function flowtablesOf({ flowtables }: FakeTable): FlowtableReadback[] {
  return Array.from(flowtables, ([name, devices]) => ({ name, isOwnKind: true, devices: [...devices] }));
}

function chainReadback(name: string, chain: FakeChain, family: TableFamily): ChainReadback {
  return {
    name,
    ...(chain.base === undefined ? {} : { base: chain.base }),
    rules: chain.rules.map(({ handle, rule }) => ({
      handle,
      ...(rule.comment === undefined ? {} : { comment: rule.comment }),
      key: ruleKey(rule, family),
      ...(rule.statements.some(({ kind }) => kind === "counter") ? { counter: { packets: 0n, bytes: 0n } } : {}),
    })),
  };
}

function setReadback(set: FakeSet): SetReadback {
  const { dynamic, name, key, interval, size } = set.shape;
  if (dynamic === true)
    return { name, key, interval, ...(size === undefined ? {} : { size }), dynamic, elements: new Set() };
  const shape = setKeyShape(set.shape);
  const elements = new Set<string>();
  for (const { range } of set.elements.values())
    elements.add(interval ? formatInterval(shape, range) : decodeKey(shape, range.first));
  return { name, key, interval, ...(size === undefined ? {} : { size }), elements };
}

function mapReadback(map: FakeMap): MapReadback {
  const shape = keyShape([map.shape.key]);
  return {
    name: map.shape.name,
    key: map.shape.key,
    elements: new Map(Array.from(map.elements.values(), ({ key, verdict }) => [decodeKey(shape, key), verdict])),
  };
}
