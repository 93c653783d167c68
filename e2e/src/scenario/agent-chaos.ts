import { messageOf, seededRandom } from "@bulrush/base";
import { type Fault, FAULTS, type HostHands, makeNoise, openHands } from "../agent-chaos/faults.ts";
import { proveClosed, proveTraffic, settleTraffic, untilReported, untilWhole, waitFor } from "../agent-chaos/watch.ts";
import { chaosWorld, saveWorld, startChaosSession, startChaosTraffic } from "../agent-chaos/world.ts";
import type { LabSession } from "../lab/session.ts";
import type { Traffic } from "../lab/traffic.ts";
import { Choices } from "../random/choices.ts";
import type { Scenario } from "./scenario.ts";

const HOSTS = ["host-a", "host-b"] as const;
const ROUNDS = 8;
const QUICK_ROUNDS = 1;
/** Kills in each round. */
const KILLS = 6;
const QUICK_KILLS = 1;

/** One run: what its steps have in common. */
class ChaosRun {
  readonly #session: LabSession;
  readonly #traffic: Traffic;
  readonly #choices: Choices;
  readonly #progress: (text: string) => void;
  readonly #hands: Readonly<Record<(typeof HOSTS)[number], HostHands>>;
  readonly totals = { kills: 0, faults: 0, overruns: 0, longestRepairMs: 0, longestOpenMs: 0, packets: 0, leaked: 0 };

  constructor(session: LabSession, traffic: Traffic, choices: Choices, progress: (text: string) => void) {
    this.#progress = progress;
    this.#session = session;
    this.#traffic = traffic;
    this.#choices = choices;
    this.#hands = { "host-a": openHands(session, "host-a"), "host-b": openHands(session, "host-b") };
  }

  close(): void {
    for (const hands of Object.values(this.#hands)) hands.close();
  }

  /** Kills an agent in the middle of an apply, at a moment that nobody chose, and starts it again. */
  async kill(): Promise<void> {
    const host = this.#choices.pick(HOSTS);
    const { nft } = this.#hands[host];
    const agent = this.#session.cluster.agent(host);
    this.#traffic.reset();
    const before = nft.generation();
    saveWorld(chaosWorld(this.#choices));
    // Between two of its batches, or however far it came by then.
    const commits = this.#choices.below(3);
    const delayMs = this.#choices.between(0, 20);
    await waitFor(`the agent of ${host} applies something`, () => (nft.generation() > before ? true : undefined));
    const first = performance.now();
    while (nft.generation() <= before + commits && performance.now() - first < delayMs);
    await agent.stop("SIGKILL");
    await proveTraffic(this.#traffic, `While the agent of ${host} was dead in the middle of an apply`);
    this.#note();
    this.#session.cluster.startAgent(host);
    await this.#session.refresh(180_000);
    await untilWhole(host);
    await proveTraffic(this.#traffic, `After the agent of ${host} came back`);
    this.#note();
    this.totals.kills++;
  }

  /** Does something to a host's kernel behind the agent's back. */
  async strike(fault: Fault): Promise<void> {
    const host = this.#choices.pick(HOSTS);
    await this.#prove(`Before: ${fault.name}`);
    const sinceMs = Date.now();
    const startMs = performance.now();
    const expected = fault.strike(this.#hands[host], this.#choices);
    await this.#repaired(host, fault, sinceMs, startMs, expected);
    this.totals.faults++;
  }

  /** The same while the agent is stopped, and with more notices than its buffers hold. */
  async overrun(fault: Fault): Promise<void> {
    const host = this.#choices.pick(HOSTS);
    const { pid } = this.#session.cluster.agent(host);
    await this.#prove(`Before: ${fault.name}, with lost notices`);
    const sinceMs = Date.now();
    process.kill(pid, "SIGSTOP");
    let startMs: number;
    let expected: ReturnType<Fault["strike"]>;
    try {
      makeNoise(this.#hands[host]);
      expected = fault.strike(this.#hands[host], this.#choices);
    } finally {
      startMs = performance.now();
      process.kill(pid, "SIGCONT");
    }
    await this.#repaired(host, fault, sinceMs, startMs, expected);
    this.totals.overruns++;
  }

  async #repaired(
    host: string,
    fault: Fault,
    sinceMs: number,
    startMs: number,
    expected: ReturnType<Fault["strike"]>,
  ): Promise<void> {
    if (expected !== undefined) await untilReported(host, sinceMs, expected);
    await untilWhole(host);
    const tookMs = Math.round(performance.now() - startMs);
    this.#progress(`${host}: ${fault.name}: as meant again after ${tookMs} ms`);
    this.totals.longestRepairMs = Math.max(this.totals.longestRepairMs, tookMs);
    if (fault.opens) {
      this.totals.longestOpenMs = Math.max(this.totals.longestOpenMs, tookMs);
      await settleTraffic(this.#traffic);
    } else proveClosed(this.#traffic.report(), fault.name);
    await this.#prove(`After the repair of: ${fault.name}`);
  }

  async #prove(what: string): Promise<void> {
    this.#note();
    this.#traffic.reset();
    await proveTraffic(this.#traffic, what);
  }

  #note(): void {
    this.totals.packets += this.#traffic.report().reduce((sum, { sent }) => sum + sent, 0);
    this.#traffic.reset();
  }
}

export const agentChaos: Scenario = {
  name: "agent-chaos",
  summary:
    "agents killed in the middle of an apply, tables, sets, routes and interfaces changed behind their backs, lost notices",
  async run({ progress, quick, seed, steps }) {
    const choices = new Choices(seededRandom(seed));
    const rounds = quick ? QUICK_ROUNDS : (steps ?? ROUNDS);
    const session = await startChaosSession(chaosWorld(choices));
    try {
      const traffic = await startChaosTraffic(session);
      const run = new ChaosRun(session, traffic, choices, progress);
      try {
        for (let round = 1; round <= rounds; round++) {
          for (let i = 0; i < (quick ? QUICK_KILLS : KILLS); i++) await run.kill();
          for (const fault of FAULTS) await run.strike(fault);
          // Every fault in turn; in the short form the worst one.
          await run.overrun(FAULTS[(round - 1) % FAULTS.length] as Fault);
          progress(`round ${round} of ${rounds}: ${JSON.stringify(run.totals)}`);
        }
      } catch (error) {
        throw new Error(`${session.cluster.logs()}\n${messageOf(error)}`);
      } finally {
        run.close();
        await traffic.stop();
      }
      return { rounds, ...run.totals };
    } finally {
      await session.stop();
    }
  },
};
