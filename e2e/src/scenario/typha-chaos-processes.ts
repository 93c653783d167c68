import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { must, seededRandom, systemClock } from "@bulrush/base";
import { tlsFromParameters } from "@bulrush/sync-client";
import { FleetClient } from "../fleet/fleet-client.ts";
import { EtcdSets, writeMany } from "../fleet/etcd-sets.ts";
import { SetModel } from "../fleet/set-model.ts";
import { TyphaProcesses } from "../fleet/typha-processes.ts";
import { LabNetwork } from "../lab/network.ts";
import { JudgedClient } from "../sync-load/judged-client.ts";
import type { LoadPlan } from "../sync-load/load-plan.ts";
import { runLoad } from "../sync-load/run-load.ts";
import { until } from "./agent-kill.ts";
import type { Scenario } from "./scenario.ts";

const TYPHAS = [0, 1, 2] as const;
/** A busy machine takes its time. */
const WAIT_MS = 1_800_000;
const MAX_PEAK_MB = 700;
const CHANGE_MS = 100;
const FREEZE_MS = 2000;
const CUT_MS = 3000;
/** A kind that says nothing is asked after half a minute; an answer takes its time on a busy machine. */
const STALE_SECS = "50";
const PATH_PREFIX = "/calico/v1/netset/";

/** The load of other processes: some 300 clients that behave, and some that do not. */
function loadPlan(quick: boolean, typhas: TyphaProcesses): LoadPlan {
  const size = (full: number, short: number): number => (quick ? short : full);
  const bad = size(10, 2);
  return {
    servers: TYPHAS.map((i) => typhas.address(i)),
    tls: typhas.tls,
    syncer: "felix",
    namePrefix: "load",
    light: size(280, 20),
    judged: size(12, 3),
    bad: { "slow-reader": bad, "black-hole": bad, garbage: 2 * bad, "half-open": 2 * bad, flood: size(4, 1) },
    storm: size(60, 5),
    stormEveryMs: 3000,
    isCold: false,
    dialRate: 100,
    ackEveryMs: 1000,
    slowBytesPerSecond: 1000,
  };
}

/**
 * ```
 *   etcd <─TcpProxy─ 3 bulrush-typha processes <─mTLS─ bulrush-sync-load's processes: light, judged, bad, storms
 *           cut          ^  SIGKILL, SIGTERM, SIGSTOP         <─ here: a client pinned to each Typha, some that roam
 * ```
 * Contents change all the time, and names come and go: in the short form only while nobody is disturbed. A name never
 * comes back, so a delete of one that is there is always wrong.
 */
export const typhaChaosProcesses: Scenario = {
  name: "typha-chaos-processes",
  summary:
    "real Typha processes killed, stopped, frozen and cut off from etcd under a generated load: all end with what it has",
  needsKube: true,
  async run({ quick, seed, steps = quick ? 2 : 60, progress }) {
    // A new namespace has no loopback device that is up.
    new LabNetwork();
    const workDir = mkdtempSync(join(tmpdir(), "bulrush-chaos-"));
    const random = seededRandom(seed);
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
    const clock = systemClock({ keepAlive: true });
    const store = await EtcdSets.start();
    const proxies = await Promise.all(TYPHAS.map(() => store.proxy()));
    const datastore = (index: number): Readonly<Record<string, string>> => ({
      DATASTORE_TYPE: "etcdv3",
      ETCD_ENDPOINTS: must(proxies[index], "a proxy").endpoint,
    });
    const typhas = await TyphaProcesses.create(workDir, datastore, {
      TYPHA_SERVERPINGINTERVALSECS: "2",
      TYPHA_SERVERPONGTIMEOUTSECS: "10",
      TYPHA_STALEAFTERSECS: STALE_SECS,
    });
    const sets = new SetModel(store);
    const names: string[] = [];
    let version = 0;
    const add = async (): Promise<void> => {
      const name = `set-${version}`;
      await sets.set(name, version++);
      names.push(name);
    };
    const change = (): Promise<void> => sets.set(pick(names), ++version);
    const remove = (): Promise<void> =>
      sets.delete(must(names.splice(Math.floor(random() * names.length), 1)[0], "a name"));
    /** Changes until it is told to end; resolves with the last write. */
    const write = async (end: AbortSignal): Promise<void> => {
      while (!end.aborted) {
        await pick(quick ? [change] : [add, remove, change, change])();
        await new Promise((resolve) => setTimeout(resolve, CHANGE_MS));
      }
    };
    const tls = await must(tlsFromParameters(typhas.tls), "TLS")();
    const client = (name: string, on: readonly number[]): FleetClient =>
      new FleetClient({
        name,
        servers: () => on.map((i) => typhas.address(i)),
        tls,
        clock,
        random: Math.random,
        exists: (path) => store.has(path.slice(PATH_PREFIX.length)),
      });
    const pinned = TYPHAS.map((i) => client(`pinned-${i}`, [i]));
    const roaming = Array.from({ length: quick ? 3 : 8 }, (_, i) => client(`roaming-${i}`, TYPHAS));
    const clients = [...pinned, ...roaming];
    const isCalm = (): boolean => {
      typhas.check();
      return clients.every((one) => one.isInSync && one.client.state().phase === "streaming" && sets.isHeldBy(one));
    };
    /** All are in sync and have what etcd has. @throws Error that says who is not. */
    const calm = async (): Promise<void> => {
      await until(isCalm, WAIT_MS).catch((error: unknown) => {
        const late = clients.flatMap((one, i) => {
          const { phase, status, lastError, serverName } = one.client.state();
          const isGood = one.isInSync && phase === "streaming" && sets.isHeldBy(one);
          return isGood
            ? []
            : [`client ${i}: ${phase} of ${serverName ?? "none"}, ${status}, ${lastError?.code ?? "no error"}`];
        });
        throw new Error(`Not calm in ${WAIT_MS} ms: ${late.join("; ")}`, { cause: error });
      });
    };
    const plan = loadPlan(quick, typhas);
    const judge = new JudgedClient({ name: "judge", plan, tls, clock, random: Math.random });
    const judgedState = (): string | undefined => Object.keys(judge.figures().states)[0];
    const abort = new AbortController();
    const counts: Record<string, number> = { SIGKILL: 0, SIGTERM: 0, freeze: 0, cut: 0, stale: 0 };
    const wrongDeletes = (): number => clients.reduce((sum, one) => sum + one.wrongDeletes, 0);
    /** What judged clients of the load were told is gone, and then told again, as of their last report. */
    let flaps = 0;
    let peakMB = 0;
    const noteMemory = async (): Promise<void> => {
      peakMB = Math.max(peakMB, ...(await typhas.residentMB()));
    };

    const actions = ["SIGKILL", "cut", "SIGTERM", "SIGKILL", "freeze", "cut", "stale"] as const;
    const disturb = async (step: number): Promise<void> => {
      const index = pick(TYPHAS);
      // Each in its turn, so that a short form kills and cuts; then at random.
      const action = actions[step - 1] ?? pick(actions);
      counts[action] = (counts[action] ?? 0) + 1;
      await noteMemory();
      if (action === "cut" || action === "stale") {
        const proxy = must(proxies[index], "a proxy");
        await typhas.ready(index);
        proxy.blackHole();
        // Long enough to be noticed, or too short for it.
        if (action === "stale") await typhas.unready(index);
        else await new Promise((resolve) => setTimeout(resolve, CUT_MS));
        proxy.mend();
        return;
      }
      if (action === "freeze") {
        typhas.freeze(index);
        await new Promise((resolve) => setTimeout(resolve, FREEZE_MS));
        typhas.thaw(index);
        return;
      }
      const code = await typhas.stop(index, action);
      if (action === "SIGTERM" && code !== 0) throw new Error(`Typha ${index} ended with ${code} at SIGTERM`);
      await until(() => pinned[index]?.client.state().phase !== "streaming", WAIT_MS);
      typhas.start(index);
    };

    try {
      await writeMany(quick ? 200 : 2000, add);
      for (const i of TYPHAS) typhas.start(i);
      const load = runLoad({
        plan,
        processes: quick ? 1 : 2,
        program: join(import.meta.dirname, "..", "sync-load", "main.ts"),
        seconds: 86_400,
        settleSeconds: WAIT_MS / 1000,
        // Those of the other processes may have agreed on a state before they are told of the last change.
        isSettled: ({ judged }) => judged.state === judgedState(),
        signal: abort.signal,
        onProgress: ({ judged }) => (flaps = judged.flaps),
      });
      let failure: Error | undefined;
      load.catch((error: unknown) => (failure = error as Error));
      for (let step = 1; step <= steps; step++) {
        await calm();
        if (quick) {
          for (let i = 0; i < 5; i++) await pick([add, remove])();
          await calm();
        }
        const end = new AbortController();
        const written = write(end.signal);
        written.catch((error: unknown) => (failure = error as Error));
        try {
          await disturb(step);
          await until(() => pinned.every((one) => one.client.state().phase === "streaming"), WAIT_MS);
        } finally {
          end.abort();
          await written.catch(() => {});
        }
        if (failure !== undefined) throw failure;
        progress(
          `step ${step} of ${steps}: ${JSON.stringify(counts)}, ${wrongDeletes()} wrong deletes, ${flaps} flaps`,
        );
      }
      await calm();
      await noteMemory();
      // One that begins only now can have no state but the last.
      judge.start();
      await until(() => judge.figures().inSync === 1, WAIT_MS);
      abort.abort();
      const figures = await load;
      if (figures.problems.length > 0) throw new Error(figures.problems.join("\n"));
      if (figures.judged.state !== judgedState()) throw new Error("The judged clients have another state than etcd");
      if (wrongDeletes() > 0) throw new Error(`${wrongDeletes()} keys were deleted that are there`);
      if (peakMB > MAX_PEAK_MB) throw new Error(`A Typha had ${peakMB} MB resident`);
      const { latencyMs, dials, judged } = figures;
      return {
        clients: plan.light + plan.judged + clients.length,
        keys: names.length,
        steps,
        wrongDeletes: wrongDeletes(),
        peakMB,
        dials,
        snapshots: judged.snapshots,
        resumes: judged.resumes + judged.bucketResumes,
        p50Ms: latencyMs.p50 ?? "none",
        p99Ms: latencyMs.p99 ?? "none",
        ...counts,
      };
    } finally {
      abort.abort();
      await Promise.all([judge.stop(), ...clients.map((one) => one.client.stop())]);
      await typhas.stopAll();
      for (const proxy of proxies) proxy.stop();
      await store.stop();
      rmSync(workDir, { recursive: true });
    }
  },
};
