import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@bulrush/base";
import {
  encodeTransaction,
  formatRuleset,
  type NftConnection,
  openNftConnection,
  planTable,
  type TableState,
  Transaction,
} from "@bulrush/nftables";
import { MessageWriter, NETLINK_NETFILTER, NetlinkSocket } from "@bulrush/netlink";
import type { ToDataplane } from "@bulrush/proto";
import { parseDataplaneConfig } from "../src/config/parse-config.ts";
import { openHostKernel } from "../src/kernel/host-kernel.ts";
import { createDataplane } from "../src/loop/dataplane.ts";
import { RulesetProgrammer } from "../src/loop/ruleset-programmer.ts";
import { Interfaces } from "../src/manager/interfaces.ts";
import { RulesetManagers } from "../src/manager/ruleset-managers.ts";
import { WorkloadEndpoints } from "../src/manager/workload-endpoints.ts";
import { renderRuleset } from "../src/render/render-ruleset.ts";
import { type BenchOptions, digits, median, percentile, type Row, type Spent, spent } from "./row.ts";
import { runTool } from "./tool.ts";
import { endpoint, member, policy, RULES_PER_POLICY, type Sizes, world } from "./world.ts";

const BENCH = "dataplane";
const IPV4_ONLY: ReadonlyMap<string, string> = new Map([["Ipv6Support", "false"]]);

/**
 * Wall milliseconds of the reference system, which drives the nft program, on its machine. Ours are of CPU, the kernel's
 * share included: all work is done in calls that wait for nobody, so that both are the same on an idle machine.
 */
const REFERENCE = { member: 10, chain: 16.2, readBack: { 100: 446, 500: 2289, 2000: 12_550 } } as const;
const LIMIT = { member: 0.03, chain: 0.1, readBack: 0.1, first: 0.5, render: 1, changeP99Ms: 20 } as const;

/** What an agent does every 90 s, and the reference's figures of long runs, are measured when the code is compiled. */
const READ_WARM_UP = 5;
const RENDER_WARM_UP = 3000;
const FIRST_WARM_UP = 3;

/** As the product asks for. */
const SEND_BUFFER_BYTES = 64 * 1024 * 1024;

/** Policies of one endpoint, where there are many endpoints. */
const POLICIES_EACH = 10;

/** The managers and the programmer of the loop on the kernel of this namespace, without the loop around them. */
export class Rig {
  readonly nft: NftConnection = openNftConnection();
  readonly #endpoints = new WorkloadEndpoints();
  readonly #managers: RulesetManagers;
  readonly #programmer: RulesetProgrammer;

  constructor() {
    const { config } = parseDataplaneConfig(IPV4_ONLY);
    this.#managers = new RulesetManagers({
      config,
      endpoints: this.#endpoints,
      interfaces: new Interfaces(),
      onBadMember: (_set, bad) => fail(`no member: ${bad}`),
    });
    this.#programmer = new RulesetProgrammer({
      nft: this.nft,
      clock: systemClock(),
      tables: [...this.#managers.tables.values()],
      signal: new AbortController().signal,
      onWarning: (message, fields) => fail(`${message} ${JSON.stringify(fields)}`),
    });
  }

  async program(...messages: readonly ToDataplane[]): Promise<void> {
    for (const message of messages) {
      this.#endpoints.onUpdate(message);
      this.#managers.onUpdate(message);
    }
    do {
      this.#managers.completeDeferredWork();
      await this.#programmer.apply();
    } while (this.#managers.hasLeftovers);
  }

  async readBack(): Promise<void> {
    const before = this.#programmer.counters.transactions;
    this.#programmer.queueRefresh();
    await this.#programmer.apply();
    if (this.#programmer.counters.transactions !== before) fail("a read-back without a change wrote something");
  }

  close(): void {
    this.nft.run(new Transaction().deleteTable({ family: "ip", name: "calico" }));
    this.nft.close();
  }
}

/** Changes of one member and of one chain, and read-backs, in tables of the reference's sizes. */
export async function changes({ print, quick, scale }: BenchOptions): Promise<void> {
  const tables: readonly Sizes[] = [
    { sets: 100, members: 20, policies: 100 },
    { sets: 500, members: 50, policies: 500 },
    ...(quick ? [] : [{ sets: 2000, members: 100, policies: 2000 }]),
  ];
  for (const sizes of tables) {
    const rig = new Rig();
    await rig.program(...world(sizes));
    const size = { sets: sizes.sets, members: sizes.members, chains: sizes.policies, rules: RULES_PER_POLICY };
    const rounds = quick ? 50 : 200;
    const memberMs: number[] = [];
    const chainMs: number[] = [];
    for (let i = 0; i < rounds; i++) {
      const change = { msg: "IPSetDeltaUpdate", id: "s:0" } as const;
      const one = [member(0, 200)];
      const added = i % 2 === 0;
      const delta = { ...change, added_members: added ? one : [], removed_members: added ? [] : one };
      memberMs.push((await spent(() => rig.program(delta))).cpuMs);
      chainMs.push((await spent(() => rig.program(policy(0, sizes.sets, 1 + (i % 2))))).cpuMs);
    }
    const readMs: number[] = [];
    for (let i = 0; i < READ_WARM_UP; i++) await rig.readBack();
    for (let i = 0; i < (quick ? 3 : 5); i++) readMs.push((await spent(() => rig.readBack())).cpuMs);
    rig.close();
    const rows = [
      ["member added or removed", median(memberMs), REFERENCE.member, LIMIT.member],
      ["chain replaced", median(chainMs), REFERENCE.chain, sizes.sets > 500 ? undefined : LIMIT.chain],
      [
        "read back, no change",
        median(readMs),
        REFERENCE.readBack[sizes.sets as keyof typeof REFERENCE.readBack],
        LIMIT.readBack,
      ],
    ] as const;
    for (const [metric, value, known, limit] of rows) {
      const reference = known * scale;
      const ratio = digits(value / reference);
      print({
        bench: BENCH,
        case: size,
        metric,
        value: digits(value),
        unit: "ms CPU",
        reference: digits(reference),
        ratio,
        // The reference has no figure for more chains; there, most of ours is the kernel's check of all jumps.
        ...(limit === undefined ? {} : { limit }),
      });
    }
  }
}

/** A whole ruleset into an empty kernel, against `nft -f` of the same text. To be run ahead of all else: see the last row. */
export async function firstProgram({ print, quick }: BenchOptions): Promise<void> {
  const sizes: Sizes = quick
    ? { sets: 100, members: 100, policies: 100 }
    : { sets: 1000, members: 100, policies: 1000 };
  const messages = world(sizes);
  const own: number[] = [];
  for (let i = 0; i < FIRST_WARM_UP + 3; i++) {
    const rig = new Rig();
    own.push((await spent(() => rig.program(...messages))).cpuMs);
    rig.close();
  }
  const tables = renderRuleset(messages, IPV4_ONLY);
  const text = tables.map((table) => formatRuleset(table)).join("\n");
  const folder = mkdtempSync(join(tmpdir(), "bulrush-bench-"));
  const file = join(folder, "ruleset.nft");
  writeFileSync(file, text);
  const floors: number[] = [];
  const kernels: number[] = [];
  try {
    for (let i = 0; i < 3; i++) {
      floors.push(runTool(`nft -f ${file}`).cpuMs);
      for (const { family, name } of tables) runTool(`nft delete table ${family} ${name}`);
      kernels.push(await kernelPart(tables));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  const floor = median(floors);
  const row = (metric: string, list: readonly number[]): Row => ({
    bench: BENCH,
    case: { rules: sizes.policies * RULES_PER_POLICY, members: sizes.sets * sizes.members },
    metric,
    value: digits(median(list)),
    unit: "ms CPU",
    floor: digits(floor),
    ratio: digits(median(list) / floor),
  });
  print({ ...row("first program", own.slice(FIRST_WARM_UP)), limit: LIMIT.first });
  print(row("first program, code not yet compiled", own.slice(0, 1)));
  print(row("first program, the kernel's part of it", kernels));
}

/** CPU of the kernel for the bytes of a first program alone. Takes the tables away again. */
async function kernelPart(tables: readonly TableState[]): Promise<number> {
  const transaction = new Transaction();
  const cleanUp = new Transaction();
  for (const table of tables) {
    planTable(table, undefined, transaction);
    cleanUp.deleteTable(table);
  }
  const socket = NetlinkSocket.open(NETLINK_NETFILTER, { sendBufferBytes: SEND_BUFFER_BYTES });
  const writer = new MessageWriter();
  const send = (batch: Transaction): Promise<Spent> => {
    const { lastSeq } = encodeTransaction(batch, writer, () => socket.nextSeq(), undefined);
    return spent(() => {
      const { refusals } = socket.exchange("Send a batch", writer.bytes, lastSeq, () => true);
      if (refusals.length > 0) fail("the kernel refuses the batch");
    });
  };
  const { cpuMs } = await send(transaction);
  await send(cleanUp);
  socket.close();
  return cpuMs;
}

/** From the message to the commit, through the loop, with many rules there. */
export async function oneChange({ print, quick }: BenchOptions): Promise<void> {
  const sizes: Sizes = { sets: 1000, members: 100, policies: 1000 };
  const kernel = openHostKernel();
  let onApplied: () => void = () => undefined;
  const dataplane = createDataplane({
    settings: IPV4_ONLY,
    kernel,
    clock: systemClock({ keepAlive: true }),
    random: Math.random,
    events: { onApplied: () => onApplied(), onFatal: (error) => fail(error.message) },
  });
  let sequence = 0;
  const apply = async (...messages: readonly ToDataplane[]): Promise<number> => {
    const startMs = performance.now();
    const applied = new Promise<void>((resolve) => (onApplied = resolve));
    await dataplane.send(messages);
    dataplane.mark(++sequence);
    await applied;
    return performance.now() - startMs;
  };
  await apply(...world(sizes, POLICIES_EACH), { msg: "InSync" });
  const tookMs: number[] = [];
  for (let i = 0; i < (quick ? 30 : 200); i++) {
    // Ten changes a second are let through; more would measure how they wait for each other.
    await new Promise((resolve) => setTimeout(resolve, 110));
    tookMs.push(
      await apply(
        i % 2 === 0
          ? policy(i % sizes.policies, sizes.sets, 1 + i)
          : endpoint(POLICIES_EACH, i % 4 === 1 ? "Pass" : "Deny", i - (i % POLICIES_EACH)),
      ),
    );
  }
  await dataplane.stop();
  kernel.nft.run(new Transaction().deleteTable({ family: "ip", name: "calico" }));
  kernel.close();
  const base = { bench: BENCH, case: { rules: sizes.policies * RULES_PER_POLICY }, unit: "ms" } as const;
  print({ ...base, metric: "one change, median", value: digits(median(tookMs)) });
  print({ ...base, metric: "one change, p99", value: digits(percentile(tookMs, 0.99)), limit: LIMIT.changeP99Ms });
}

/** From messages to netlink bytes, with neither a kernel nor a comparison. */
export async function rendering({ print, quick, scale }: BenchOptions): Promise<void> {
  const rounds = quick ? 1000 : 3000;
  const writer = new MessageWriter();
  const sets = Array.from(
    { length: 10 },
    (_, i): ToDataplane => ({ msg: "IPSetUpdate", id: `s:${i}`, type: "NET", members: [] }),
  );
  /** Microseconds for the chains whose names begin so, when `change` is sent again and again. */
  const measure = async (before: readonly ToDataplane[], change: (round: number) => ToDataplane): Promise<number> => {
    const { config } = parseDataplaneConfig(IPV4_ONLY);
    const endpoints = new WorkloadEndpoints();
    const managers = new RulesetManagers({ config, endpoints, interfaces: new Interfaces(), onBadMember: fail });
    const feed = (message: ToDataplane): void => {
      endpoints.onUpdate(message);
      managers.onUpdate(message);
    };
    for (const message of before) feed(message);
    managers.completeDeferredWork();
    const [table] = managers.tables.values();
    if (table === undefined) return fail("no table");
    table.acknowledge();
    const once = (round: number): void => {
      feed(change(round));
      managers.completeDeferredWork();
      const difference = table.difference();
      if (difference === undefined) return fail("nothing to write");
      const transaction = new Transaction();
      planTable(difference.desired, difference.current, transaction);
      let seq = 0;
      encodeTransaction(transaction, writer, () => ++seq, undefined);
      table.acknowledge();
    };
    for (let i = 0; i < RENDER_WARM_UP; i++) once(i);
    const { cpuMs } = await spent(() => {
      for (let i = 0; i < rounds; i++) once(i);
    });
    return (cpuMs / rounds) * 1000;
  };
  const policies = Array.from({ length: 10 }, (_, i) => policy(i, 10));
  const rows = [
    [
      "policy of 10 rules",
      139,
      await measure([...sets, ...policies, endpoint(10)], (round) => policy(0, 10, 1 + (round % 2))),
    ],
    [
      "endpoint with 10 policies",
      189,
      await measure([...sets, ...policies], (round) => endpoint(10, round % 2 === 0 ? "Pass" : "Deny")),
    ],
  ] as const;
  for (const [metric, known, value] of rows) {
    const reference = known * scale;
    print({
      bench: BENCH,
      case: { to: "netlink bytes" },
      metric: `rendering: ${metric}`,
      value: digits(value),
      unit: "us CPU",
      reference: digits(reference),
      ratio: digits(value / reference),
      limit: LIMIT.render,
    });
  }
}

function fail(message: string): never {
  throw new Error(message);
}
