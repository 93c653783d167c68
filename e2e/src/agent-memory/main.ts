import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@bulrush/base";
import { openRouteConnection } from "@bulrush/netlink";
import { createMetrics, HealthAggregator, silentLogger } from "@bulrush/service";
import { createTypha, loadTyphaConfig, RANDOM_PORT } from "@bulrush/typha";
import { customerStore, interfaceOf, LOCAL_HOST, LOCAL_PODS } from "./customer-store.ts";

/**
 * One measure, in the network namespace that it is started in: a Typha here, an agent as a process of its own, built and
 * started as in its image (deploy/docker/Dockerfile). Prints what the agent takes once it is ready and has come to rest,
 * as a line of JSON, in bytes.
 */
const AGENT = join(import.meta.dirname, "../../../packages/agent/dist/bin/bulrush-agent.js");
const NODE_OPTIONS = "--max-semi-space-size=2";
const READY_WITHIN_MS = 600_000;
const LOOK_MS = 1000;
/** At rest: so many looks in a row within this share of each other. */
const CALM_LOOKS = 10;
const CALM_SHARE = 0.02;

const remotePods = Number(process.argv[2]);
const clock = systemClock({ keepAlive: true });
const folder = mkdtempSync(join(tmpdir(), "bulrush-agent-memory-"));

const kernel = openRouteConnection();
kernel.write({ kind: "change-link", link: "lo", change: { up: true } });
for (let i = 0; i < LOCAL_PODS; i++) {
  kernel.write({ kind: "add-veth", veth: { name: interfaceOf(i), up: true, peer: { name: `peer${i}` } } });
  kernel.write({ kind: "change-link", link: `peer${i}`, change: { up: true } });
}
kernel.close();

const typha = createTypha(
  { ...loadTyphaConfig({ env: {} }).values, ServerHost: "127.0.0.1", ServerPort: RANDOM_PORT, AdminPort: 0 },
  {
    clock,
    random: Math.random,
    newEpoch: () => "bench",
    logger: silentLogger,
    metrics: createMetrics(),
    health: new HealthAggregator(clock),
    openDatastore: () => Promise.resolve(customerStore(remotePods)),
    serverName: "typha",
  },
);
typha.start();
const { port } = await typha.listening;
const log = openSync(join(folder, "agent.log"), "a");
let isRunning = true;
const agent = spawn(process.execPath, [AGENT], {
  stdio: ["ignore", log, log],
  env: {
    PATH: process.env["PATH"],
    NODE_OPTIONS,
    FELIX_FELIXHOSTNAME: LOCAL_HOST,
    FELIX_TYPHAADDR: `127.0.0.1:${port}`,
    FELIX_HEALTHENABLED: "true",
    FELIX_HEALTHHOST: "127.0.0.1",
    FELIX_LOGFILEPATH: "none",
    FELIX_STATEDIR: folder,
    FELIX_MTUFILE: "none",
    FELIX_ENDPOINTSTATUSPATHPREFIX: join(folder, "run"),
    FELIX_ADMINSOCKETPATH: "none",
  },
});
agent.on("exit", () => (isRunning = false));
closeSync(log);
try {
  await until(READY_WITHIN_MS, isReady);
  const looks: number[] = [];
  await until(READY_WITHIN_MS, () => {
    looks.push(statusBytes("VmRSS"));
    const last = looks.slice(-CALM_LOOKS);
    const [low, high] = [Math.min(...last), Math.max(...last)];
    return Promise.resolve(looks.length >= CALM_LOOKS && high - low <= high * CALM_SHARE);
  });
  console.log(JSON.stringify({ resident: looks.at(-1), highest: statusBytes("VmHWM") }));
} catch (error) {
  console.error(readFileSync(join(folder, "agent.log"), "utf8").slice(-2000));
  throw error;
} finally {
  agent.kill("SIGKILL");
  await typha.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);

async function until(withinMs: number, isSo: () => Promise<boolean>): Promise<void> {
  for (let leftMs = withinMs; leftMs > 0; leftMs -= LOOK_MS) {
    if (!isRunning) throw new Error("The agent has ended");
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  throw new Error(`Not so within ${withinMs} ms`);
}

async function isReady(): Promise<boolean> {
  try {
    return (await fetch("http://127.0.0.1:9099/readiness")).ok;
  } catch {
    return false;
  }
}

function statusBytes(field: "VmRSS" | "VmHWM"): number {
  const text = readFileSync(`/proc/${agent.pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? Number.NaN) * 1024;
}
