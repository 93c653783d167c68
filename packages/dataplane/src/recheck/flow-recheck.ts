import { type Clock, messageOf } from "@bulrush/base";
import type { NftOperation } from "@bulrush/nftables";
import type { DesiredTables } from "../desired/tables.ts";
import { ReadBackPacer } from "../drift/read-back-pacer.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import { deleteFlows, findDeniedFlows, judgeOfFlows, type RecheckInputs } from "./denied-flows.ts";
import { EndedFlows } from "./ended-flows.ts";

/** The first, and three more. */
const MAX_TRIES = 4;

export interface FlowRecheckOptions {
  readonly kernel: Pick<Kernel, "conntrack" | "nft" | "routes">;
  readonly clock: Clock;
  readonly interfaces: Interfaces;
  readonly tables: DesiredTables;
  /** See `RecheckInputs`. */
  readonly isUplink: (interfaceName: string) => boolean;
  readonly isWorkload: (interfaceName: string) => boolean;
  /** Another number after each write of rules. */
  readonly generation: () => number;
  readonly onWarning: (message: string, fields: Readonly<Record<string, unknown>>) => void;
  /** Asks for a call of `run` although nothing changes. */
  readonly wakeIn: (delayMs: number) => void;
}

/**
 * When flows are judged again: after each write that put back what was missing, with pauses in proportion to what it
 * costs. That it is due is written with it, so whoever starts after a stop in between does it.
 * A kernel that does not list its flows is asked 4 times, and by the next start again. What policy denies is refused
 * first, then deleted: in the other order, a packet in between would make the flow anew.
 */
export class FlowRecheck {
  readonly #options: FlowRecheckOptions;
  readonly #pacer = new ReadBackPacer();
  readonly #ended = new EndedFlows();
  #isAdopted = false;
  #isDue = false;
  #tries = 0;
  /** The rules by which what is refused was judged. */
  #generation = -1;

  constructor(options: FlowRecheckOptions) {
    this.#options = options;
  }

  /** True while flows may live that policy denies. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /** The write at hand puts rules of ours in force which were not, or not all of them. Gives what belongs into it. */
  note(): readonly NftOperation[] {
    this.#isDue = true;
    this.#tries = 0;
    return this.#ended.remember();
  }

  /** To be called when the rules are in force as the tables say. Gives failures in words. */
  run(): readonly string[] {
    const failures = this.#refuse();
    const { clock, generation, wakeIn } = this.#options;
    const isStale = this.#ended.isRefusing && this.#generation !== generation();
    if (!this.#isDue && !isStale) return failures;
    const startMs = clock.monotonicMs();
    const waitMs = this.#pacer.waitMs(startMs);
    if (waitMs > 0) {
      wakeIn(waitMs);
      return failures;
    }
    this.#generation = generation();
    try {
      failures.push(...(this.#isDue ? this.#endDenied(startMs) : this.#forgive()));
    } finally {
      this.#pacer.done(startMs, clock.monotonicMs());
    }
    return failures;
  }

  #endDenied(startMs: number): readonly string[] {
    const { kernel, onWarning } = this.#options;
    const failures: string[] = [];
    try {
      this.#isDue = false;
      const denied = findDeniedFlows(this.#inputs());
      const refused = denied.flatMap(({ flow, isRefused }) => (isRefused ? [flow] : []));
      const left = this.#ended.add(refused, startMs);
      if (left > 0)
        onWarning("Too many flows were ended to refuse all of their packets: some may start anew", { flows: left });
      failures.push(...this.#refuse());
      const flows = deleteFlows(denied, kernel.conntrack);
      if (flows > 0) onWarning("End flows that policy denies, since rules were missing for a while", { flows });
      this.#ended.forget();
      return [...failures, ...this.#refuse()];
    } catch (error) {
      this.#tries++;
      this.#isDue = this.#tries < MAX_TRIES;
      const end = this.#isDue ? "" : `; gave up after ${MAX_TRIES} tries, they live on`;
      return [...failures, `End flows that policy denies: ${messageOf(error)}${end}`];
    }
  }

  /** Rules have changed since something was refused: policy may allow it now, or its address be another's. */
  #forgive(): readonly string[] {
    try {
      const judge = judgeOfFlows(this.#inputs());
      this.#ended.forgive((flow) => judge(flow) === "refused");
    } catch (error) {
      return [`Judge refused flows anew: ${messageOf(error)}`];
    }
    return this.#refuse();
  }

  #inputs(): RecheckInputs {
    const { interfaces, isUplink, isWorkload, kernel, tables } = this.#options;
    const states = new Map([...tables].map(([family, table]) => [family, table.state()]));
    return { ...kernel, interfaces, isUplink, isWorkload, tables: states };
  }

  /** Brings the refusal of what was ended into the kernel, or out of it. */
  #refuse(): string[] {
    const { clock, kernel, wakeIn } = this.#options;
    const now = { monotonicMs: clock.monotonicMs(), unixMs: clock.nowMs() };
    try {
      if (!this.#isAdopted) {
        this.#ended.adopt(kernel.nft, now);
        this.#isDue ||= this.#ended.isDue;
      }
      this.#isAdopted = true;
      this.#ended.write(kernel.nft, now);
    } catch (error) {
      return [`Refuse flows that were ended: ${messageOf(error)}`];
    }
    if (this.#ended.nextMs !== undefined) wakeIn(this.#ended.nextMs - now.monotonicMs);
    return [];
  }
}
