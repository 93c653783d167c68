import { systemClock } from "@bulrush/base";
import { Transaction } from "@bulrush/nftables";
import type { ToDataplane } from "@bulrush/proto";
import { openHostKernel } from "../src/kernel/host-kernel.ts";
import { createDataplane } from "../src/loop/dataplane.ts";
import { type BenchOptions, digits, median, type Spent, spent } from "./row.ts";
import { endpoint, policies, sets } from "./world.ts";

const SIZES = { sets: 2000, members: 50, policies: 1000 } as const;
const ENDPOINTS = 500;
const POLICIES_EACH = 50;
const REFRESH_S = 90;

/**
 * A host with many workloads under many policies: what its first apply costs, a start that finds everything there, and
 * the share of a core that the read-back every 90 s takes when nothing happens. Both families.
 */
export async function largeHost({ print, quick }: BenchOptions): Promise<void> {
  const share = quick ? 5 : 1;
  const endpoints = ENDPOINTS / share;
  const world: ToDataplane[] = [
    ...sets(SIZES.sets / share, SIZES.members),
    ...policies(SIZES.policies / share, SIZES.sets / share),
    ...Array.from({ length: endpoints }, (_, i) => endpoint(POLICIES_EACH, "Deny", i, SIZES.policies / share)),
    { msg: "InSync" },
  ];
  const base = {
    bench: "large-host",
    case: { endpoints, policiesEach: POLICIES_EACH, sets: SIZES.sets / share },
  } as const;
  const host = new Host();
  const first = await spent(() => host.start(world));
  const rules = host.rules;
  print({ ...base, metric: "rules of both families", value: rules, unit: "rules" });
  print({ ...base, metric: "first apply", value: digits(first.cpuMs), unit: "ms CPU" });
  await host.stop();
  const again = new Host();
  const restart = await spent(() => again.start(world));
  if (again.transactions > 0) throw new Error("A start with nothing changed has written something");
  print({ ...base, metric: "start that finds all there", value: digits(restart.cpuMs), unit: "ms CPU" });
  const looks: Spent[] = [];
  for (let i = 0; i < 5; i++) looks.push(await spent(() => again.readBack()));
  const lookMs = median(looks.slice(2).map(({ cpuMs }) => cpuMs));
  print({ ...base, metric: "read back, no change", value: digits(lookMs), unit: "ms CPU" });
  print({ ...base, metric: "CPU share at rest", value: digits(lookMs / REFRESH_S / 1000), unit: "cores" });
  print({ ...base, metric: "resident memory", value: Math.round(process.memoryUsage().rss / 1e6), unit: "MB" });
  await again.stop();
  const kernel = openHostKernel();
  const tables = ["ip", "ip6"] as const;
  for (const family of tables) kernel.nft.run(new Transaction().deleteTable({ family, name: "calico" }));
  kernel.close();
}

/** A dataplane on the kernel of this namespace. */
class Host {
  readonly #kernel = openHostKernel();
  #onApplied: () => void = () => undefined;
  #sequence = 0;
  rules = 0;
  transactions = 0;
  readonly #dataplane = createDataplane({
    settings: new Map(),
    kernel: this.#kernel,
    clock: systemClock({ keepAlive: true }),
    random: Math.random,
    events: {
      onApplied: () => this.#onApplied(),
      onStatus: ({ counters }) => {
        this.rules = counters.rules.ip + counters.rules.ip6;
        this.transactions = counters.nftTransactions;
      },
      onFatal: (error) => {
        throw error;
      },
    },
  });

  async start(messages: readonly ToDataplane[]): Promise<void> {
    await this.#dataplane.send(messages);
    await this.#applied();
  }

  async readBack(): Promise<void> {
    this.#dataplane.resync();
    await this.#applied();
  }

  #applied(): Promise<void> {
    const applied = new Promise<void>((resolve) => (this.#onApplied = resolve));
    this.#dataplane.mark(this.#sequence++);
    return applied;
  }

  async stop(): Promise<void> {
    await this.#dataplane.stop();
    this.#kernel.close();
  }
}
