import { type CancelTimer, type Clock, messageOf } from "@bulrush/base";
import type { NftChange, NftWatch } from "@bulrush/nftables";
import type { Kernel } from "../kernel/kernel.ts";
import type { DriftItem, DriftRepair } from "./drift-report.ts";
import { ReadBackPacer } from "./read-back-pacer.ts";
import { RepairLog } from "./repair-log.ts";

export interface DriftWatchOptions {
  readonly kernel: Pick<Kernel, "openNftWatch">;
  readonly clock: Clock;
  /** Ours: "ip calico". What happens to others is no concern of ours. */
  readonly tables: ReadonlySet<string>;
  /** Somebody has changed our tables: read them back now. */
  readonly onDue: () => void;
  readonly onWarning: (message: string, fields: Readonly<Record<string, unknown>>) => void;
}

/**
 * Follows what others do to our tables, and keeps the books of what was put right.
 *
 *     kernel ──change of ours──> due at once, or when the pacer allows it ──> onDue ──> read back, repaired() ──> settle()
 *
 * A kernel that does not let us listen leaves the refresh timers.
 * Invariant: at most one timer is pending; `#items` is what the apply at hand has put right so far.
 */
export class DriftWatch implements Pick<NftWatch, "pause" | "resume"> {
  readonly #options: DriftWatchOptions;
  readonly #pacer = new ReadBackPacer();
  readonly #log = new RepairLog();
  #watch: NftWatch | undefined;
  #timer: CancelTimer | undefined;
  #by = "";
  #items: DriftItem[] = [];

  constructor(options: DriftWatchOptions) {
    this.#options = options;
  }

  start(): void {
    const { kernel, onWarning, tables } = this.#options;
    const cannot = (error: unknown): void => {
      this.#watch = undefined;
      onWarning("Listen to changes of nf_tables: they are found at the next refresh only", { error: messageOf(error) });
    };
    try {
      this.#watch = kernel.openNftWatch({
        onChange: (change) => {
          if (touches(change, tables)) this.noteForeignChange(change.by);
        },
        onLost: () => this.noteForeignChange(""),
        onError: cannot,
      });
    } catch (error) {
      cannot(error);
    }
  }

  pause(): void {
    this.#watch?.pause();
  }

  resume(): void {
    this.#watch?.resume();
  }

  /** Somebody has changed, or may have changed, our tables. */
  noteForeignChange(by: string): void {
    this.#by = by;
    if (this.#timer !== undefined) return;
    const { clock, onDue } = this.#options;
    const waitMs = this.#pacer.waitMs(clock.monotonicMs());
    if (waitMs === 0) {
      onDue();
      return;
    }
    this.#timer = clock.after(waitMs, () => {
      this.#timer = undefined;
      onDue();
    });
  }

  /** The tables were read back. Monotonic ms. */
  noteReadBack(startMs: number, endMs: number): void {
    this.#pacer.done(startMs, endMs);
  }

  repaired(items: readonly DriftItem[]): void {
    this.#items.push(...items);
  }

  /** To be called at the end of each apply: closes the books of what it has put right. */
  settle(): void {
    const items = this.#items;
    this.#items = [];
    const isNft = items.some(({ kind }) => kind === "table" || kind === "chain" || kind === "set" || kind === "map");
    this.#log.add(this.#options.clock.nowMs(), isNft ? this.#by : "", items);
    if (isNft) this.#by = "";
  }

  /** The last repairs, oldest first. */
  repairs(): readonly DriftRepair[] {
    return this.#log.list();
  }

  async stop(): Promise<void> {
    this.#timer?.();
    this.#timer = undefined;
    await this.#watch?.close();
  }
}

function touches({ tables }: NftChange, ours: ReadonlySet<string>): boolean {
  for (const table of tables) if (ours.has(table)) return true;
  return false;
}
