import { must, systemClock } from "@bulrush/base";
import type { TLSMaterial } from "@bulrush/sync-client";
import { BadClient } from "./bad-client.ts";
import { Dialer } from "./dialer.ts";
import { FrameDecoder } from "./frame-decoder.ts";
import { addJudged, JudgedClient, NO_JUDGED } from "./judged-client.ts";
import { LightClient } from "./light-client.ts";
import { BAD_WAYS, type LoadPlan } from "./load-plan.ts";
import { type LoadReport, LoadRecord } from "./load-record.ts";

const TICK_MS = 100;
/** Judged clients that are being told everything: with more, a busy machine gives each too little to keep its stream. */
const MAX_JOINING = 6;

/** All clients of one process. */
export class LoadWorker {
  readonly #plan: LoadPlan;
  readonly #random: () => number;
  readonly #record: LoadRecord = new LoadRecord();
  readonly #light: readonly LightClient[];
  readonly #judged: readonly JudgedClient[];
  readonly #bad: readonly BadClient[];
  readonly #waitingJudged: JudgedClient[];
  readonly #timer: NodeJS.Timeout;
  #isCalm = false;
  /** Dials that may begin; grows with time. */
  #dialBudget = 0;
  #lastTickMs = Date.now();
  #lastAckMs = 0;
  #lastStormMs = Date.now();

  /** Begins at once; ends with `stop`. */
  constructor(plan: LoadPlan, tls: TLSMaterial | undefined, random: () => number) {
    this.#plan = plan;
    this.#random = random;
    const { namePrefix, servers, syncer, isCold, slowBytesPerSecond } = plan;
    const record = this.#record;
    const shared = { dialer: new Dialer(tls), decoder: new FrameDecoder(), syncer, random, record };
    const clock = systemClock({ keepAlive: true });
    const many = <T>(count: number, make: (index: number) => T): T[] =>
      Array.from({ length: count }, (_, i) => make(i));
    this.#light = many(
      plan.light,
      (i) => new LightClient({ ...shared, name: `${namePrefix}-light-${i}`, servers, first: i, isCold }),
    );
    this.#judged = many(
      plan.judged,
      (i) => new JudgedClient({ name: `${namePrefix}-judged-${i}`, plan, tls, clock, random }),
    );
    this.#waitingJudged = [...this.#judged];
    this.#bad = BAD_WAYS.flatMap((way) =>
      many(plan.bad[way], (i) => {
        const server = must(servers[i % servers.length], "a server");
        return new BadClient({ ...shared, way, name: `${namePrefix}-${way}-${i}`, server, slowBytesPerSecond });
      }),
    );
    for (const client of this.#light) client.start();
    this.#timer = setInterval(() => this.#tick(Date.now()), TICK_MS);
    this.#tick(Date.now());
  }

  /** No more storms, and those who misbehave leave. */
  calm(): void {
    this.#isCalm = true;
    for (const client of this.#bad) client.stop();
  }

  report(): LoadReport {
    const { latency, connect, messages, kvs, bytes, gaps, dials, endings, badEndings } = this.#record;
    const { user, system } = process.cpuUsage();
    return {
      inSync: this.#light.filter(({ isInSync }) => isInSync).length,
      latency: latency.data(),
      connect: connect.data(),
      messages,
      kvs,
      bytes,
      gaps,
      dials,
      endings,
      badEndings,
      judged: this.#judged.reduce((sum, client) => addJudged(sum, client.figures()), NO_JUDGED),
      cpuMs: (user + system) / 1000,
      rssMB: process.memoryUsage.rss() / 1e6,
    };
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const client of [...this.#light, ...this.#bad]) client.stop();
    await Promise.all(this.#judged.map((client) => client.stop()));
  }

  #tick(nowMs: number): void {
    const { dialRate, ackEveryMs, stormEveryMs, storm } = this.#plan;
    // No more than a second's worth is saved up.
    this.#dialBudget =
      dialRate === 0
        ? Number.POSITIVE_INFINITY
        : Math.min(Math.max(1, dialRate), this.#dialBudget + ((nowMs - this.#lastTickMs) / 1000) * dialRate);
    this.#lastTickMs = nowMs;
    for (const client of [...this.#light, ...(this.#isCalm ? [] : this.#bad)])
      if (client.tick(nowMs, this.#dialBudget >= 1)) this.#dialBudget--;
    while (this.#dialBudget >= 1 && this.#waitingJudged.length > 0 && this.#joining() < MAX_JOINING) {
      this.#dialBudget--;
      this.#waitingJudged.pop()?.start();
    }
    if (ackEveryMs > 0 && nowMs - this.#lastAckMs >= ackEveryMs) {
      this.#lastAckMs = nowMs;
      for (const client of this.#light) client.ack();
    }
    if (storm > 0 && !this.#isCalm && nowMs - this.#lastStormMs >= stormEveryMs) {
      this.#lastStormMs = nowMs;
      this.#dropSome(storm);
    }
  }

  /** Judged clients that have begun and are not in sync. */
  #joining(): number {
    const waiting = new Set(this.#waitingJudged);
    return this.#judged.filter((client) => !waiting.has(client) && !client.isInSync).length;
  }

  /** A run of neighbours: those of one rack, say. */
  #dropSome(count: number): void {
    const first = Math.floor(this.#random() * this.#light.length);
    for (let i = 0; i < Math.min(count, this.#light.length); i++) this.#light[(first + i) % this.#light.length]?.drop();
  }
}
