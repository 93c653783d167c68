import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "@bulrush/model";
import { skipWithoutKube } from "../kube/binaries.ts";
import type { LabCluster } from "../lab/cluster.ts";
import type { LabSession } from "../lab/session.ts";
import type { Traffic, TrafficReport } from "../lab/traffic.ts";
import { writeManifest } from "../lab/write-manifest.ts";
import { until } from "./agent-kill.ts";
import { openDirectCluster } from "./direct.ts";
import { checkTraffic, guardedWorld, startGuardedTraffic, startGuardedWorld, WORK_DIR } from "./guarded-world.ts";
import { required } from "./required.ts";
import type { Scenario } from "./scenario.ts";

const WAIT_MS = 240_000;
/** On a machine that does much else. That nothing leaks is what counts. */
const MAX_GAP_MS = 20_000;
const HOST = "host-a";
const DIRECT_DIR = "/run/bulrush-direct";

/**
 * ```
 *  agent saves ─> SIGKILL of the agent, and of Typha (without Typha: of the API server)
 *     ─> the host's namespace and its pods are made anew, forwarding off
 *     ─> traffic begins ─> agent starts, nobody above it is there ─> friends get through, strangers never did
 *     ─> the manifests change ─> Typha starts ─> the differences are in force, strangers never got through
 * ```
 */
export const coldStart: Scenario = {
  name: "cold-start",
  summary:
    "a host rebooted while Typha, or the API server that it reads itself, is down: enforced from the saved state before the first packet; then differences",
  async run({ quick, progress }) {
    const rounds = quick ? 1 : 5;
    const typha = await throughTypha(rounds, progress);
    // In the short form without the binaries: the rest counts too.
    const direct = skipWithoutKube() === false ? await withoutTypha(quick ? 1 : 3, progress) : undefined;
    return { rounds, leaked: 0, enforcedMs: typha, ...(direct !== undefined && { directEnforcedMs: direct }) };
  },
};

type Progress = (text: string) => void;

async function throughTypha(rounds: number, progress: Progress): Promise<number> {
  const session = await startGuardedWorld();
  let enforcedMs = 0;
  try {
    for (let round = 1; round <= rounds; round++) {
      const { typha } = session.cluster;
      enforcedMs = Math.max(enforcedMs, await rebootRound(session.cluster, WORK_DIR, () => typha.stop("SIGKILL")));
      await differences(session, round);
      progress(`round ${round} of ${rounds}: nothing leaked, enforced after ${enforcedMs} ms at most`);
    }
  } catch (error) {
    throw new Error(`${session.cluster.logs()}\n${(error as Error).message}`);
  } finally {
    await session.stop();
  }
  return enforcedMs;
}

/** Agents that read the API server themselves, which dies. */
async function withoutTypha(rounds: number, progress: Progress): Promise<number> {
  const { cluster, store } = await openDirectCluster(DIRECT_DIR);
  let enforcedMs = 0;
  const write = async (resources: readonly Resource[]): Promise<void> => {
    const { updates, problems } = await store.sync(resources);
    if (problems.length > 0) throw new Error(problems.join("; "));
    cluster.reshape(resources, updates);
  };
  try {
    await write(guardedWorld());
    for (const host of ["host-a", "host-b"]) cluster.startAgent(host);
    await (await startGuardedTraffic({ cluster })).stop();
    for (let round = 1; round <= rounds; round++) {
      const stop = (): Promise<unknown> => store.server.apiserver.kill();
      enforcedMs = Math.max(enforcedMs, await rebootRound(cluster, DIRECT_DIR, stop));
      const traffic = await startGuardedTraffic({ cluster });
      await store.server.restart();
      // It answers before it has opened its stores.
      await patiently(() => write(formerFriend()));
      const isOver = await closedFor(traffic, "friend friend-far connects");
      if (!isOver) throw new Error("The former friend still makes connections");
      const others = traffic.report().filter(({ name }) => !name.includes("friend-far"));
      checkTraffic(others, `Round ${round}, while the API server came back`, MAX_GAP_MS);
      await write(guardedWorld());
      await traffic.stop();
      await (await startGuardedTraffic({ cluster })).stop();
      progress(`without Typha, round ${round} of ${rounds}: nothing leaked, enforced after ${enforcedMs} ms at most`);
    }
  } catch (error) {
    throw new Error(`${cluster.logs()}\n${(error as Error).message}`);
  } finally {
    await cluster.stop();
  }
  return enforcedMs;
}

/** Tries until it works. */
async function patiently(work: () => Promise<void>): Promise<void> {
  for (const endMs = performance.now() + WAIT_MS; ; ) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Whether a flow stops to get through: of a good number of tries none does. */
async function closedFor(traffic: Traffic, flow: string): Promise<boolean> {
  const now = (): TrafficReport =>
    required(
      traffic.report().find(({ name }) => name === flow),
      flow,
    );
  for (const endMs = performance.now() + WAIT_MS; performance.now() < endMs; ) {
    const before = now();
    await until(() => now().sent >= before.sent + 30, WAIT_MS);
    if (now().delivered === before.delivered) return true;
  }
  return false;
}

/** The world in which one of the friends is a stranger. */
function formerFriend(): Resource[] {
  return guardedWorld().map((resource) =>
    resource.metadata.name === "friend-far"
      ? { ...resource, metadata: { ...resource.metadata, labels: { role: "stranger" } } }
      : resource,
  );
}

/** How long after its start the agent let friends through, in milliseconds. */
async function rebootRound(cluster: LabCluster, workDir: string, stopAbove: () => Promise<unknown>): Promise<number> {
  await until(() => existsSync(join(workDir, `state-${HOST}`, "base")), WAIT_MS);
  await Promise.all([cluster.agent(HOST).stop("SIGKILL"), stopAbove()]);
  reboot(cluster);
  const traffic = await startGuardedTraffic({ cluster }, [], { isOpen: false });
  await until(() => traffic.report().every(({ sent }) => sent > 5), WAIT_MS);
  const startedMs = performance.now();
  cluster.startAgent(HOST);
  // A connect that was dropped waits for the kernel's next try, for longer and longer: the others go on at once.
  const counting = (): TrafficReport[] =>
    traffic.report().filter(({ name }) => !(name.startsWith("friend") && name.endsWith("established")));
  await until(() => counting().every(({ name, delivered }) => !name.startsWith("friend") || delivered > 0), WAIT_MS);
  const tookMs = Math.round(performance.now() - startedMs);
  // From before the agent was there until now.
  checkTraffic(counting(), "After the reboot, with nobody above", Number.POSITIVE_INFINITY);
  await traffic.stop();
  return tookMs;
}

/** The host as a boot leaves it: new devices, no rules, no routes to pods, and it forwards nothing. */
function reboot({ network, prober }: LabCluster): void {
  const host = required(network.host(HOST), HOST).plan;
  const pods = network.pods.filter(({ plan }) => plan.host === HOST);
  for (const { plan, namespace } of pods) {
    prober.remove(namespace);
    network.removePod(plan.name);
  }
  network.removeHost(HOST);
  const { namespace } = network.addHost(host);
  namespace.run(() => {
    writeFileSync("/proc/sys/net/ipv4/ip_forward", "0");
    writeFileSync("/proc/sys/net/ipv6/conf/all/forwarding", "0");
  });
  for (const { plan } of pods) {
    const made = network.addPod(plan);
    for (const { protocol, port } of plan.ports) prober.serve(made.namespace, protocol, port);
  }
}

/** While Typha is away, a friend becomes a stranger and back; when it is there the host follows. */
async function differences(session: LabSession, round: number): Promise<void> {
  const { cluster } = session;
  const traffic = await startGuardedTraffic(session);
  const manifests = join(WORK_DIR, "manifests", "world.json");
  writeManifest(manifests, formerFriend());
  cluster.startTypha();
  await session.refresh(WAIT_MS);
  await until(() => traffic.report().every(({ sent }) => sent > 5), WAIT_MS);
  // The flows of the former friend that are known stay; whether it can make new ones is probed below.
  const others = traffic.report().filter(({ name }) => !name.includes("friend-far"));
  checkTraffic(others, `Round ${round}, while Typha came back`, MAX_GAP_MS);
  await traffic.stop();
  const wrong = (await session.tryAll()).filter(({ connects, explained }) => connects !== explained);
  if (wrong.length > 0)
    throw new Error(
      `Not as the policy says: ${wrong.map((flow) => `${flow.from.name} -> ${flow.to.name}`).join(", ")}`,
    );
  const denied = (await session.tryAll()).filter(
    ({ from, to }) => from.name === "world/friend-far" && to.name === "world/server",
  );
  if (denied.some(({ connects }) => connects)) throw new Error("The former friend still makes connections");
  writeManifest(manifests, guardedWorld());
  await session.refresh(WAIT_MS);
}
