import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LabSession } from "../lab/session.ts";
import type { TrafficReport } from "../lab/traffic.ts";
import { writeManifest } from "../lab/write-manifest.ts";
import { until } from "./agent-kill.ts";
import { checkTraffic, guardedWorld, startGuardedTraffic, startGuardedWorld, WORK_DIR } from "./guarded-world.ts";
import { required } from "./required.ts";
import type { Scenario } from "./scenario.ts";

const WAIT_MS = 240_000;
/** On a machine that does much else. That nothing leaks is what counts. */
const MAX_GAP_MS = 20_000;
const HOST = "host-a";

/**
 * ```
 *  agent saves ─> SIGKILL of Typha and agent ─> the host's namespace and its pods are made anew, forwarding off
 *     ─> traffic begins ─> agent starts, nobody above it is there ─> friends get through, strangers never did
 *     ─> the manifests change ─> Typha starts ─> the differences are in force, strangers never got through
 * ```
 */
export const coldStart: Scenario = {
  name: "cold-start",
  summary:
    "a host rebooted while Typha is down: enforced from the saved state before the first packet; then differences",
  async run({ quick, progress }) {
    const rounds = quick ? 1 : 5;
    const session = await startGuardedWorld();
    let enforcedMs = 0;
    try {
      for (let round = 1; round <= rounds; round++) {
        enforcedMs = Math.max(enforcedMs, await rebootRound(session));
        await differences(session, round);
        progress(`round ${round} of ${rounds}: nothing leaked, enforced after ${enforcedMs} ms at most`);
      }
    } catch (error) {
      throw new Error(`${session.cluster.logs()}\n${(error as Error).message}`);
    } finally {
      await session.stop();
    }
    return { rounds, leaked: 0, enforcedMs };
  },
};

/** How long after its start the agent let friends through, in milliseconds. */
async function rebootRound(session: LabSession): Promise<number> {
  const { cluster } = session;
  await until(() => existsSync(join(WORK_DIR, `state-${HOST}`, "base")), WAIT_MS);
  await Promise.all([cluster.agent(HOST).stop("SIGKILL"), cluster.typha.stop("SIGKILL")]);
  reboot(session);
  const traffic = await startGuardedTraffic(session, [], { isOpen: false });
  await until(() => traffic.report().every(({ sent }) => sent > 5), WAIT_MS);
  const startedMs = performance.now();
  cluster.startAgent(HOST);
  // A connect that is told "no way" between the rules and the routes is over: the others are tried again and again.
  const counting = (): TrafficReport[] =>
    traffic.report().filter(({ name }) => !(name.startsWith("friend") && name.endsWith("established")));
  await until(() => counting().every(({ name, delivered }) => !name.startsWith("friend") || delivered > 0), WAIT_MS);
  const tookMs = Math.round(performance.now() - startedMs);
  // From before the agent was there until now.
  checkTraffic(counting(), "After the reboot, without Typha", Number.POSITIVE_INFINITY);
  await traffic.stop();
  return tookMs;
}

/** The host as a boot leaves it: new devices, no rules, no routes to pods, and it forwards nothing. */
function reboot(session: LabSession): void {
  const { network, prober } = session.cluster;
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
  const changed = guardedWorld().map((resource) =>
    resource.metadata.name === "friend-far"
      ? { ...resource, metadata: { ...resource.metadata, labels: { role: "stranger" } } }
      : resource,
  );
  const manifests = join(WORK_DIR, "manifests", "world.json");
  writeManifest(manifests, changed);
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
