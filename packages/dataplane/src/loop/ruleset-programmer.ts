import { type Clock, CodedError, messageOf, sleep } from "@bulrush/base";
import {
  failedWith,
  type NftConnection,
  type NftOperation,
  NftError,
  type NftWatch,
  NFT_ERROR_CODES,
  planTable,
  type TableReadback,
  type TableState,
  Transaction,
} from "@bulrush/nftables";
import type { DesiredTable } from "../desired/desired-table.ts";
import type { DriftItem } from "../drift/drift-report.ts";
import { objectKey, rulesetDrift, type RulesetDriftKind } from "../drift/ruleset-drift.ts";
import { DataplaneError } from "../errors.ts";
import { isUnfiltered } from "./is-unfiltered.ts";
import { setsAhead } from "./sets-ahead.ts";
import { splitTransaction } from "./split-transaction.ts";
import {
  isLive,
  planQuietly,
  planTakeover,
  remakesIntervalSet,
  removeTable,
  standbyName,
  standbyOf,
} from "./table-swap.ts";
import { wakingAhead } from "./waking-ahead.ts";

/** Tries of one apply, and the try from which on the table is made anew. */
const MAX_TRIES = 10;
const RECREATE_FROM_TRY = 7;
/** The try from which on tables that guard nothing are left out, when they alone are refused. */
const LEAVE_OUT_FROM_TRY = 3;
const FIRST_PAUSE_MS = 1;
/** What a kernel says of a family, of chains of a kind or of statements that it does not know. */
const UNKNOWN = ["EOPNOTSUPP", "EAFNOSUPPORT", "ENOENT"] as const;
/** net.core.wmem_default of most kernels. */
const SMALLEST_BUFFER_BYTES = 212_992;

export interface ProgrammerOptions {
  readonly nft: NftConnection;
  readonly clock: Clock;
  readonly tables: readonly DesiredTable[];
  /** Ends the pauses between tries: `apply` then throws the signal's reason. */
  readonly signal: AbortSignal;
  /** Is paused while something is written, so that nobody is told of it. */
  readonly watch?: Pick<NftWatch, "pause" | "resume">;
  /** Somebody else changed tables while the watch was paused. */
  readonly onForeignChange?: () => void;
  /** Tables were read back whole. Monotonic ms. */
  readonly onReadBack?: (startMs: number, endMs: number) => void;
  /** Ahead of a write that is to put right what others have changed: true when packets may have passed unseen. */
  readonly leavesHoles?: (items: readonly DriftItem[]) => boolean;
  /** Packets may have passed unseen until the write at hand: what belongs into that write. */
  readonly onHoles?: () => readonly NftOperation[];
  /** What others had changed, and a write has put right. */
  readonly onDrift?: (items: readonly DriftItem[]) => void;
  /**
   * True for tables that deny. Those that are not there at the first write have left a hole; no other may keep them out.
   * Default: all are.
   */
  readonly isFilter?: (table: DesiredTable) => boolean;
  readonly onWarning: (message: string, fields: Readonly<Record<string, unknown>>) => void;
}

/** Numbers of what was done, since start. */
export interface ProgrammerCounters {
  transactions: number;
  reads: number;
  failures: number;
  readonly drift: Record<RulesetDriftKind, number>;
}

/**
 * Brings the wanted tables into the kernel: rules and verdicts of all tables in one batch.
 *
 *     known ──change──> batch of the difference ──ok──> known
 *       ^                        │ refused
 *       │                        v
 *       └──ok── read back, batch of what differs (again: pauses 1 ms, doubling) ──7th try──> the table is made anew
 *
 * Made anew: the whole table under another name and without hooks; the hooks move over at one stroke; then the same way
 * back (table-swap.ts). There is no moment without rules, or with a set that is still empty.
 *
 * Where the kernel does not know what tables that deny nothing are made of, those are left out from the third try on, for
 * good. When all tries have failed, what is not refused is written once more without the rest.
 *
 * A batch that fails changes nothing in the kernel. Interval sets that are new go ahead in a batch of their own
 * (sets-ahead.ts), and a batch that is too large is cut (split-transaction.ts); both are safe to stop in between.
 * Invariant: while `#known` is false, nothing is written but by a plan
 * that was made from a read-back (or that replaces the table).
 */
export class RulesetProgrammer {
  readonly counters: ProgrammerCounters = {
    transactions: 0,
    reads: 0,
    failures: 0,
    drift: { chain: 0, set: 0, map: 0 },
  };
  readonly #options: ProgrammerOptions;
  #tables: readonly DesiredTable[];
  #known = false;
  #adopted = false;
  #refreshDue = false;
  /** Packets may have passed unseen, and the write that ends it is not done. */
  #hasHoles = false;
  /** Bytes of one part of a transaction that has to be cut; set once the first one was. */
  #budgetBytes: number | undefined;
  /** False while it is known that there is no table that stands in for one of ours. */
  #mayHaveStandby = true;

  constructor(options: ProgrammerOptions) {
    this.#options = options;
    this.#tables = options.tables;
  }

  /** Reads back and compares at the next {@link apply}, beside its own work. */
  queueRefresh(): void {
    this.#refreshDue = true;
  }

  /**
   * The kernel is as the tables want it when this resolves. Throws a {@link DataplaneError} when it cannot be brought
   * there. A refresh whose listing fails is skipped: a failed listing is never taken for an empty ruleset.
   */
  async apply(): Promise<void> {
    if (this.#known) {
      await this.#program();
      if (this.#refreshDue) await this.#refresh();
    } else await this.#program();
    this.#refreshDue = false;
  }

  async #program(): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    for (let attempt = 1; ; attempt++) {
      try {
        // Made anew, nothing has to be read: that may be what fails.
        const isAnew = attempt >= RECREATE_FROM_TRY;
        const recovery = this.#known || isAnew ? undefined : this.#planRecovery();
        if (recovery !== undefined) this.#noteHoles(recovery.plan, recovery.own);
        if (isAnew) this.#runAnew();
        else this.#run(recovery?.plan ?? this.#planChanges());
        if (recovery !== undefined) this.#countDrift(recovery.plan, recovery.own);
        for (const table of this.#tables) table.acknowledge();
        this.#known = true;
        this.#hasHoles = false;
        this.#adopted = true;
        this.#mayHaveStandby = false;
        return;
      } catch (error) {
        if (!(error instanceof CodedError)) throw error;
        this.#known = false;
        this.counters.failures++;
        this.#options.onWarning("Program nf_tables", { attempt, error: error.message, ...error.data });
        if (attempt >= LEAVE_OUT_FROM_TRY) this.#leaveOut(error);
        if (attempt === MAX_TRIES) this.#programOthers(error);
        if (attempt === MAX_TRIES)
          throw new DataplaneError(`Program nf_tables: ${MAX_TRIES} tries failed, the last with: ${error.message}`, {
            code: "DATAPLANE_PROGRAM",
            op: "Program nf_tables",
            cause: error,
          });
      }
      await sleep(this.#options.clock, pauseMs, this.#options.signal);
      pauseMs *= 2;
    }
  }

  /** What guards the host must not wait for a table that does not, and that the kernel refuses. */
  #leaveOut(error: CodedError): void {
    if (!UNKNOWN.some((errnoName) => failedWith(error, errnoName))) return;
    const refused = familiesOf(error);
    const { isFilter } = this.#options;
    const isAside = (table: DesiredTable): boolean => refused.has(table.family) && isFilter?.(table) === false;
    const aside = this.#tables.filter(isAside);
    if (aside.length === 0 || aside.length < refused.size) return;
    this.#tables = this.#tables.filter((table) => !isAside(table));
    for (const { family, name } of aside)
      this.#options.onWarning("Leave out a table that the kernel refuses", { table: `${family} ${name}` });
  }

  /** The last try is over: where one family alone is refused, the packets of the other are guarded all the same. */
  #programOthers(error: CodedError): void {
    const refused = familiesOf(error);
    const all = this.#tables;
    const others = all.filter(({ family }) => !refused.has(family));
    if (refused.size === 0 || others.length + refused.size !== all.length) return;
    this.#tables = others;
    try {
      this.#run(this.#planRead());
    } catch (failure) {
      if (!(failure instanceof CodedError)) throw failure;
      this.#options.onWarning("Program nf_tables but for what is refused", { error: failure.message });
    } finally {
      this.#tables = all;
    }
  }

  async #refresh(): Promise<void> {
    let plan: Transaction;
    try {
      plan = this.#planRead();
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      this.#options.onWarning("Read nf_tables back", { error: messageOf(error) });
      return;
    }
    if (plan.isEmpty) return;
    try {
      this.#noteHoles(plan, new Set());
      this.#run(plan);
      this.#countDrift(plan, new Set());
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      this.#known = false;
      await this.#program();
    }
  }

  /**
   * What the kernel has other than the tables want it, without writing anything. What was changed in the tables since the
   * last {@link apply} is not in the kernel yet and counts too. Throws when a listing fails.
   */
  inspect(): readonly DriftItem[] {
    return rulesetDrift(this.#planRead()).items;
  }

  #planChanges(): Transaction {
    const transaction = new Transaction();
    for (const table of this.#tables) {
      const difference = table.difference();
      if (difference !== undefined) planTable(difference.desired, difference.current, transaction);
    }
    return transaction;
  }

  /** From a read-back, after a write that failed. What we had not meant to change then is drift that made it fail. */
  #planRecovery(): { readonly plan: Transaction; readonly own: ReadonlySet<string> } {
    const plan = this.#planRead();
    const own = new Set<string>();
    for (const table of this.#tables) {
      const difference = table.difference();
      for (const state of [difference?.desired, difference?.current])
        for (const kind of ["chain", "set", "map"] as const)
          for (const name of state?.[`${kind}s`].keys() ?? [])
            own.add(objectKey({ kind, name: `${table.family} ${name}` }));
    }
    return { plan, own };
  }

  #planRead(): Transaction {
    const { clock, nft, onReadBack } = this.#options;
    const startMs = clock.monotonicMs();
    const transaction = new Transaction();
    for (const table of this.#tables) {
      const present: TableReadback | undefined = nft.readTable(table.family, table.name);
      this.counters.reads++;
      const wanted = table.state();
      if (!this.#adopted && this.#options.isFilter?.(table) === true && isUnfiltered(wanted, present))
        this.#noteUnfiltered(table);
      planTable(wanted, present, transaction);
    }
    this.#planEndOfStandby(transaction);
    onReadBack?.(startMs, clock.monotonicMs());
    return transaction;
  }

  /**
   * From whatever there is to the whole table as wanted, written anew. Each step leaves one full set of rules in force,
   * and may be the last one: the next try goes on from what it finds.
   */
  #runAnew(): void {
    const { nft } = this.#options;
    const marks = this.#marks();
    if (!marks.isEmpty) this.#runOne(marks);
    const wanted = this.#tables.map((table) => table.state());
    const standby = wanted.map(standbyOf);
    const present = standby.map(({ family, name }) => nft.readTable(family, name));
    if (!present.some((table) => table !== undefined && isLive(table))) {
      this.#remove(standby.filter((_, i) => present[i] !== undefined));
      this.#mayHaveStandby = true;
      this.#runCut(planQuietly(standby));
      this.#runOne(planTakeover(standby, wanted));
    } else this.#remove(wanted);
    this.#runCut(planQuietly(wanted));
    this.#runOne(planTakeover(wanted, standby));
  }

  #remove(tables: readonly TableState[]): void {
    const transaction = new Transaction();
    for (const table of tables) removeTable(transaction, table);
    if (!transaction.isEmpty) this.#runOne(transaction);
  }

  #noteUnfiltered(table: DesiredTable): void {
    const standby = this.#options.nft.readTable(table.family, standbyName(table.name));
    if (standby === undefined || !isLive(standby)) this.#hasHoles = true;
  }

  /** Plans the end of a stand-in that was left, with the batch that puts the tables themselves in force. */
  #planEndOfStandby(transaction: Transaction): void {
    if (!this.#mayHaveStandby) return;
    const { nft } = this.#options;
    for (const { family, name } of this.#tables) {
      const table = { family, name: standbyName(name) };
      if (nft.readTable(family, table.name) !== undefined) transaction.deleteTable(table);
    }
  }

  #run(transaction: Transaction): void {
    if (remakesIntervalSet(transaction)) this.#runAnew();
    else {
      const [first = new Transaction(), ...others] = wakingAhead(transaction);
      for (const part of [this.#marks().append(first), ...others].flatMap(setsAhead)) this.#runCut(part);
    }
    this.#hasHoles = false;
  }

  /** What goes with, or ahead of, the write that ends a hole. */
  #marks(): Transaction {
    return new Transaction().push(...(this.#hasHoles ? (this.#options.onHoles?.() ?? []) : []));
  }

  /** In parts, where it is too large for one. */
  #runCut(transaction: Transaction): void {
    if (transaction.isEmpty) return;
    try {
      this.#runOne(transaction);
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      this.#runInParts(transaction, error);
    }
  }

  #runInParts(transaction: Transaction, tooLarge: NftError): void {
    const limit = tooLarge.data["limit"];
    this.#budgetBytes ??= typeof limit === "number" ? limit : SMALLEST_BUFFER_BYTES;
    const parts = splitTransaction(transaction, this.#budgetBytes);
    if (parts.length <= 1) throw tooLarge;
    try {
      for (const part of parts) this.#runOne(part);
    } catch (error) {
      // The parts before are in the kernel: the next try reads back, and cuts smaller.
      if (isTooLarge(error)) this.#budgetBytes /= 2;
      throw error;
    }
  }

  /** Writes something beside the tables' contents (devices of flow tables), as nobody else's change. */
  runAside(transaction: Transaction): void {
    this.#runOne(transaction);
  }

  #runOne(transaction: Transaction): void {
    const { nft, watch } = this.#options;
    if (watch === undefined) nft.run(transaction);
    else this.#runUnwatched(transaction, watch);
    this.counters.transactions++;
  }

  /** The generation tells whether anybody else was at it meanwhile. */
  #runUnwatched(transaction: Transaction, watch: Pick<NftWatch, "pause" | "resume">): void {
    const { nft, onForeignChange } = this.#options;
    const before = nft.generation();
    watch.pause();
    try {
      nft.run(transaction);
    } finally {
      watch.resume();
    }
    if (nft.generation() - before > 1) onForeignChange?.();
  }

  #noteHoles(repair: Transaction, own: ReadonlySet<string>): void {
    if (!this.#adopted || repair.isEmpty) return;
    const { items } = rulesetDrift(repair, own);
    this.#hasHoles ||= items.length > 0 && this.#options.leavesHoles?.(items) === true;
  }

  /** Every object that a repair touches, but for our own, was changed by somebody else. */
  #countDrift(repair: Transaction, own: ReadonlySet<string>): void {
    // Before the first write of ours there is nothing that others could have changed.
    if (!this.#adopted) return;
    const { items, objects } = rulesetDrift(repair, own);
    for (const { kind } of objects) this.counters.drift[kind]++;
    if (items.length === 0) return;
    this.#options.onDrift?.(items);
    const names = items.slice(0, 20).map(({ kind, name, what }) => `${kind} ${name} ${what}`);
    this.#options.onWarning("Repair nf_tables that somebody else changed", { objects: names });
  }
}

function isTooLarge(error: unknown): error is NftError {
  return error instanceof NftError && error.code === NFT_ERROR_CODES.tooLarge;
}

/** What the kernel has refused: "arp" of "add-chain arp calico-arp cali-OUTPUT". */
function familiesOf(error: CodedError): ReadonlySet<string> {
  return new Set(error instanceof NftError ? error.failures.map(({ operation }) => operation.split(" ")[1] ?? "") : []);
}
