import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SetFiles } from "../fleet/set-files.ts";
import { TcpGate } from "../fleet/tcp-gate.ts";
import { TyphaProcesses } from "../fleet/typha-processes.ts";
import { LabNetwork } from "../lab/network.ts";
import { figuresOf, type LoadFigures } from "../sync-load/load-figures.ts";
import { judgedPlan, splitPlan } from "../sync-load/load-plan.ts";
import { WorkerProcess } from "../sync-load/worker-process.ts";
import type { Scenario } from "./scenario.ts";

const TYPHAS = [0, 1, 2] as const;
/** A busy machine takes its time. */
const WAIT_MS = 3_600_000;
/** Of the bytes of a whole snapshot for each client; what moves is counted with TLS and all. */
const MAX_SHARE = 0.03;
const LOOK_MS = 200;

/**
 * ```
 *   manifests ─watch─> 3 bulrush-typha processes <─ TcpGate, which counts bytes <─mTLS─ processes of judged clients
 * ```
 */
export const rollingRestart: Scenario = {
  name: "rolling-restart",
  summary: "all Typhas restarted one after the other: hardly a byte moves, and no agent's graph sees an update",
  async run({ quick, progress }) {
    // A new namespace has no loopback device that is up.
    new LabNetwork();
    const clients = quick ? 12 : 300;
    const keys = quick ? 6000 : 50_000;
    const workDir = mkdtempSync(join(tmpdir(), "bulrush-rolling-"));
    // On a busy machine it may take minutes until a process of fifty clients has its turn.
    const typhas = await TyphaProcesses.create(workDir, join(workDir, "manifests"), {
      TYPHA_SERVERHANDSHAKETIMEOUTSECS: "300",
      TYPHA_SERVERPONGTIMEOUTSECS: "900",
    });
    const gates = await Promise.all(TYPHAS.map(() => TcpGate.open()));
    const servedBytes = (): number => gates.reduce((sum, { servedBytes: bytes }) => sum + bytes, 0);
    const servers = gates.map(({ port }) => ({ host: "127.0.0.1", port }));
    const plan = { ...judgedPlan({ servers, tls: typhas.tls, judged: clients }), dialTimeoutMs: 120_000 };
    const workers: WorkerProcess[] = [];
    const figures = async (): Promise<LoadFigures> => {
      typhas.check();
      return figuresOf(plan, await Promise.all(workers.map((worker) => worker.report())), 0);
    };
    /** Resolves once all clients have the same, and this many keys at least. */
    const settled = async (): Promise<LoadFigures> => {
      for (const endMs = performance.now() + WAIT_MS; performance.now() < endMs; ) {
        const now = await figures();
        if (now.problems.length === 0 && now.judged.keys >= keys) return now;
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
      throw new Error(`They did not settle: ${(await figures()).problems.join("; ")}`);
    };
    try {
      new SetFiles(join(workDir, "manifests")).setMany(keys);
      for (const [i, gate] of gates.entries()) {
        typhas.start(i);
        gate.target = typhas.address(i).port;
      }
      for (const i of TYPHAS) await typhas.ready(i);
      for (const part of splitPlan(plan, quick ? 1 : 6)) {
        workers.push(new WorkerProcess(join(import.meta.dirname, "..", "sync-load", "main.ts"), part));
      }
      const before = await settled();
      const snapshotBytes = await typhas.snapshotBytes();
      progress(`${clients} clients have ${keys} keys, for ${snapshotBytes} bytes each`);
      const startBytes = servedBytes();
      for (const i of TYPHAS) {
        const code = await typhas.stop(i, "SIGTERM");
        if (code !== 0) throw new Error(`Typha ${i} ended with ${code} at SIGTERM`);
        typhas.start(i);
        // As Kubernetes does it: the next one only when this one is ready.
        await typhas.ready(i);
        await settled();
        progress(`Typha ${i} was restarted; ${servedBytes() - startBytes} bytes so far`);
      }
      const after = await settled();
      const moved = servedBytes() - startBytes;
      const share = moved / (clients * snapshotBytes);
      const updates = after.judged.updates - before.judged.updates;
      const connects = after.judged.connects - before.judged.connects;
      const bucketResumes = after.judged.bucketResumes - before.judged.bucketResumes;
      const snapshots = after.judged.snapshots - before.judged.snapshots;
      if (updates > 0) throw new Error(`${updates} updates reached the agents' graphs`);
      if (after.judged.state !== before.judged.state) throw new Error("The agents have another state than before");
      if (share >= MAX_SHARE)
        throw new Error(
          `${moved} bytes moved, ${share} of all snapshots: ${connects} connects, ${bucketResumes} with buckets, ${snapshots} snapshots`,
        );
      return {
        clients,
        keys,
        moved,
        snapshotBytes,
        share: Math.round(share * 1e5) / 1e5,
        updates,
        connects,
        bucketResumes,
        snapshots,
      };
    } finally {
      await Promise.all(workers.map((worker) => worker.stop()));
      await typhas.stopAll();
      for (const gate of gates) gate.close();
      rmSync(workDir, { recursive: true });
    }
  },
};
