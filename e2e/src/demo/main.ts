import { mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import { formatProblem } from "@bulrush/datastore";
import { formatAddress } from "@bulrush/ip";
import { buildConsole } from "@bulrush/console";
import { ADMIN_PORT } from "../lab/cluster.ts";
import { isInsideLab, labSignal, prepareLab, runInsideLab } from "../lab/enter.ts";
import { describeFlow } from "../lab/matrix.ts";
import { LabSession, type Refreshed, type TriedFlow } from "../lab/session.ts";
import { DEMO_HELP, type DemoArguments, parseDemoArguments } from "./arguments.ts";
import { consoleUrl, openDoorInside, openDoorOutside } from "./console-door.ts";
import { ManifestSource } from "./manifest-source.ts";
import { openStore, whyNoStore } from "./open-store.ts";
import { flowsAsJson, renderTable } from "./table.ts";

/**
 * npm start: the demo cluster.
 *
 * ```
 *  start -> shape the lab -> settle (acks) -> try every flow, explain it -> table ──once──> exit
 *             ^                                                               │
 *             └──────────────────────── a manifest was saved ─────────────────┘
 * ```
 */
const WORK_DIR = "/run/bulrush";

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

function describe({ plan, manifests, problems }: Refreshed): void {
  for (const problem of manifests.problems) progress(`  ! ${formatProblem(problem)}`);
  for (const problem of problems) progress(`  ! ${problem}`);
  for (const { pod, reason } of plan.aside) progress(`  ${pod} is left aside: ${reason}`);
  const hosts = plan.hosts.map((host) => `${host.name} (${host.addresses.map(formatAddress).join(", ")})`);
  progress(`${plan.pods.length} pods on ${hosts.join(" and ")}`);
}

/** Prints a table and what to make of it. Returns how many flows are not as explained. */
function show(flows: readonly TriedFlow[], options: DemoArguments): number {
  const wrong = flows.filter((flow) => flow.connects !== flow.explained);
  if (options.json) process.stdout.write(`${flowsAsJson(flows)}\n`);
  else if (flows.length > 0) process.stdout.write(`\n${renderTable(flows, { colour: process.stdout.isTTY })}\n\n`);
  const allowed = flows.filter((flow) => flow.connects).length;
  progress(
    `${flows.length} flows tried: ${allowed} connect, ${flows.length - allowed} do not; ${flows.length - wrong.length} as explained`,
  );
  for (const flow of wrong)
    progress(`  ! ${describeFlow(flow)} ${flow.connects ? "connects" : "does not connect"}, but: ${flow.why}`);
  return wrong.length;
}

function showChanges(before: readonly TriedFlow[], after: readonly TriedFlow[]): void {
  const old = new Map(before.map((flow) => [describeFlow(flow), flow.connects]));
  for (const flow of after) {
    const name = describeFlow(flow);
    if (old.get(name) !== undefined && old.get(name) !== flow.connects)
      progress(`  ${name} ${flow.connects ? "now connects" : "no longer connects"}: ${flow.why}`);
  }
}

/** Where the console is, and one connection in it that somebody may want explained. */
function showConsole(url: string, flows: readonly TriedFlow[]): void {
  progress(`The console of this Typha: ${url}`);
  const refused = flows.find(({ connects }) => !connects);
  if (refused === undefined) return;
  const query = new URLSearchParams({
    from: refused.from.name,
    to: refused.to.name,
    protocol: refused.protocol,
    port: String(refused.port),
  });
  progress(`  why ${describeFlow(refused)} does not connect: ${url}#/explain?${query.toString()}`);
}

async function demo(options: DemoArguments, signal: AbortSignal): Promise<number> {
  mkdirSync(WORK_DIR, { recursive: true });
  const source = new ManifestSource(options.path, WORK_DIR);
  const startedMs = performance.now();
  progress(`Reading ${options.isSample ? relative(process.cwd(), options.path) || options.path : options.path}`);
  const url = consoleUrl();
  const consoleDir = join(WORK_DIR, "console");
  if (url !== undefined) {
    await buildConsole(consoleDir);
    openDoorInside(ADMIN_PORT);
  }
  const session = await LabSession.start({
    workDir: WORK_DIR,
    manifestDir: source.directory,
    ...(url !== undefined && { typhaEnv: { TYPHA_CONSOLEDIR: consoleDir } }),
    openStore: () => openStore(options.datastore, source.directory),
  });
  if (options.datastore !== "file") progress(`A real ${options.datastore} runs, and is filled from the manifests`);
  try {
    describe(await session.refresh());
    progress(`Everything is in the kernels after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
    let flows = await session.tryAll();
    const wrong = show(flows, options);
    if (options.once) return wrong === 0 ? 0 : 1;
    if (url !== undefined) showConsole(url, flows);
    for (;;) {
      progress(`Edit a file under ${options.path} and save it. Ctrl-C ends.`);
      const savedMs = await source.nextChange(signal);
      const refreshed = await session.refresh();
      describe(refreshed);
      progress(`${Math.max(0, Math.round(refreshed.appliedAtMs - savedMs))} ms from your save to every kernel`);
      const next = await session.tryAll();
      show(next, options);
      showChanges(flows, next);
      flows = next;
    }
  } catch (error) {
    if (signal.aborted) return 0;
    throw error;
  } finally {
    await session.stop();
  }
}

const options = parseDemoArguments(process.argv.slice(2));
if (options === "help") {
  process.stdout.write(DEMO_HELP);
} else if ("wrong" in options) {
  process.stderr.write(`${options.wrong}\n\n${DEMO_HELP}`);
  process.exitCode = 2;
} else if (whyNoStore(options.datastore) !== undefined) {
  process.stderr.write(`${whyNoStore(options.datastore)}\n`);
  process.exitCode = 2;
} else if (isInsideLab()) {
  prepareLab();
  try {
    process.exitCode = await demo(options, labSignal());
  } catch (error) {
    progress(`The demo failed: ${(error as Error).message}`);
    process.exitCode = 1;
  }
  // The sockets of a lab that failed half-way must not keep it alive.
  process.exit();
} else {
  const closeDoor = options.once ? () => {} : await openDoorOutside();
  process.exitCode = await runInsideLab();
  closeDoor();
}
