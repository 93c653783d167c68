import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FELIX_CONFIG, settingChange } from "@bulrush/agent";
import { CALICO_V3, type Resource } from "@bulrush/model";
import type { LabSession } from "../lab/session.ts";
import { writeManifest } from "../lab/write-manifest.ts";
import { until } from "./agent-kill.ts";
import { type FieldValue, FIELD_VALUES } from "./felix-values.ts";
import { checkTraffic, guardedWorld, startGuardedTraffic, startGuardedWorld, WORK_DIR } from "./guarded-world.ts";
import type { Scenario } from "./scenario.ts";

const WAIT_MS = 240_000;
/** Of an agent that asks to be started again. */
const EXIT_RESTART = 129;
/** On a machine that does much else. That nothing leaks is what counts. */
const MAX_GAP_MS = 20_000;
const HOSTS = ["host-a", "host-b"] as const;
/** What the lab's agents have in their environment, which is stronger. */
const IN_ENVIRONMENT: ReadonlySet<string> = new Set(["EndpointStatusPathPrefix", "HealthEnabled"]);

type Settings = Readonly<Record<string, string>>;

/** What an agent's log says from here on. */
class AgentLog {
  readonly host: string;
  #from = 0;

  constructor(host: string) {
    this.host = host;
  }

  #text(): string {
    return readFileSync(join(WORK_DIR, `agent-${this.host}.log`), "utf8");
  }

  forget(): void {
    this.#from = this.#text().length;
  }

  /** The settings that were taken up, with what they say now; by this means. */
  taken(how: "live" | "graph"): Settings {
    const wanted = how === "live" ? "Settings have changed" : "The graph was made anew";
    const lines = this.#text().slice(this.#from).split("\n").slice(0, -1);
    const taken = lines
      .map((line) => JSON.parse(line) as { readonly msg: string; readonly settings?: Settings })
      .filter(({ msg }) => msg === wanted);
    return Object.assign({}, ...taken.map(({ settings }) => settings ?? {})) as Settings;
  }
}

interface World {
  readonly session: LabSession;
  readonly logs: readonly AgentLog[];
}

function felixConfiguration(name: string, fields: readonly FieldValue[], more: object = {}): Resource {
  const spec = { ...Object.fromEntries(fields.map(({ field, value }) => [field, value])), ...more };
  return { apiVersion: CALICO_V3, kind: "FelixConfiguration", metadata: { name }, spec };
}

function write(...configurations: readonly Resource[]): void {
  writeManifest(join(WORK_DIR, "manifests", "world.json"), [...guardedWorld(), ...configurations]);
}

/** How a change of a field must be taken up. */
function kindOf({ parameter }: FieldValue): "none" | "live" | "graph" | "restart" {
  if (IN_ENVIRONMENT.has(parameter)) return "none";
  const change = settingChange(parameter);
  return change === "process" || change === "dataplane" ? "live" : change;
}

/** Both agents take these up as documented: the same processes, without a restart. */
async function taken({ logs, session }: World, fields: readonly FieldValue[], what: string): Promise<void> {
  const expected = (how: "live" | "graph"): string[] =>
    fields.filter((field) => kindOf(field) === how).map(({ parameter }) => parameter);
  // Where the graph is made anew, everything of that change is taken up with it.
  const missing = ({ host }: AgentLog, done: Settings): string[] =>
    [...expected("live"), ...expected("graph")].filter((name) => !(name in done)).map((name) => `${name} on ${host}`);
  const all = (log: AgentLog): Settings => ({ ...log.taken("live"), ...log.taken("graph") });
  let left: string[] = [];
  await until(() => {
    left = logs.flatMap((log) => missing(log, all(log)));
    const dead = HOSTS.filter((host) => !session.cluster.agent(host).isRunning);
    if (dead.length > 0) throw new Error(`${what}: the agent of ${dead.join(", ")} has ended`);
    return left.length === 0;
  }, WAIT_MS).catch((error: Error) => {
    throw new Error(`${what}: ${error.message}; not taken up: ${left.join(", ")}`);
  });
  for (const log of logs) {
    const byGraph = Object.keys(log.taken("graph"));
    const stray = Object.keys(all(log)).filter((name) => !fields.some(({ parameter }) => parameter === name));
    if (stray.length > 0) throw new Error(`${what}: ${stray.join(", ")} changed as well`);
    if (expected("graph").length === 0 && byGraph.length > 0)
      throw new Error(`${what}: a new graph for ${byGraph.join()}`);
  }
}

async function change(world: World, fields: readonly FieldValue[], what: string): Promise<void> {
  for (const log of world.logs) log.forget();
  write(felixConfiguration("default", fields));
  await taken(world, fields, what);
  for (const log of world.logs) log.forget();
  write();
  await taken(world, fields, `${what}, back`);
}

/** Each field alone; the one before goes back with the same edit. */
async function oneByOne(world: World, fields: readonly FieldValue[], progress: (text: string) => void): Promise<void> {
  let before: readonly FieldValue[] = [];
  for (const [i, field] of fields.entries()) {
    for (const log of world.logs) log.forget();
    write(felixConfiguration("default", [field]));
    await taken(world, [...before, field], field.field);
    before = [field];
    progress(`${i + 1} of ${fields.length}: ${field.field}: ${settingChange(field.parameter)}`);
  }
  for (const log of world.logs) log.forget();
  write();
  await taken(world, before, "the last one, back");
}

/** The host's own beats the selected one, which beats the global one. */
async function precedence({ logs }: World): Promise<void> {
  const said = (prefix: string): string[] => logs.map((log) => log.taken("live")[prefix] ?? "");
  for (const log of logs) log.forget();
  write(
    felixConfiguration("default", [], { logPrefix: "of-all" }),
    felixConfiguration("some", [], { logPrefix: "of-some", nodeSelector: "has(kubernetes.io/hostname) || all()" }),
    felixConfiguration("node.host-b", [], { logPrefix: "of-one" }),
  );
  await until(() => {
    const [a = "", b = ""] = said("LogPrefix");
    return a.startsWith("of-some (") && b.startsWith("of-one (");
  }, WAIT_MS).catch(() => {
    throw new Error(`Precedence of configurations: found ${said("LogPrefix").join(" and ")}`);
  });
  write();
  await until(() => said("LogPrefix").every((text) => text === "(default)"), WAIT_MS);
}

/** Both agents end, each asking for another process, though what they hold is saved. */
async function restarted({ logs, session }: World, fields: readonly FieldValue[]): Promise<void> {
  const ended = new Map<string, number | undefined>();
  for (const host of HOSTS) void session.cluster.agent(host).exited.then((code) => ended.set(host, code));
  for (const log of logs) log.forget();
  write(felixConfiguration("default", fields));
  await until(() => ended.size === HOSTS.length, WAIT_MS).catch((error: Error) => {
    throw new Error(`A restart: ${error.message}; ended: ${[...ended.keys()].join(", ")}`);
  });
  for (const [host, code] of ended)
    if (code !== EXIT_RESTART) throw new Error(`The agent of ${host} has ended with ${code ?? "a signal"}`);
}

export const liveConfig: Scenario = {
  name: "live-config",
  summary: "every field of FelixConfiguration: taken up as documented, no unfiltered moment",
  async run({ quick, progress }) {
    const session = await startGuardedWorld();
    const world: World = { session, logs: HOSTS.map((host) => new AgentLog(host)) };
    const pids = (): string => HOSTS.map((host) => session.cluster.agent(host).pid).join();
    const groups = { none: 0, live: 0, graph: 0, restart: 0 };
    for (const field of FIELD_VALUES) groups[kindOf(field)]++;
    try {
      const before = pids();
      const traffic = await startGuardedTraffic(session);
      const live = FIELD_VALUES.filter((field) => kindOf(field) === "live");
      const graph = FIELD_VALUES.filter((field) => kindOf(field) === "graph");
      const restart = FIELD_VALUES.filter((field) => kindOf(field) === "restart");
      const none = FIELD_VALUES.filter((field) => kindOf(field) === "none");
      await change(world, [...live, ...none], "all live fields, and those without effect");
      progress(`${live.length} fields are live, ${none.length} have no effect here`);
      await change(world, graph, "all fields of the graph");
      progress(`${graph.length} fields are of the graph`);
      await precedence(world);
      if (!quick) await oneByOne(world, [...live, ...graph], progress);
      await until(() => traffic.report().every(({ sent }) => sent > 30), WAIT_MS);
      const { longestGapMs } = checkTraffic(traffic.report(), "While settings changed", MAX_GAP_MS);
      await traffic.stop();
      if (pids() !== before) throw new Error("An agent was started again");
      await restarted(world, restart);
      progress(`${restart.length} fields ask for a restart`);
      return {
        fields: FIELD_VALUES.length,
        ...groups,
        settings: Object.keys(FELIX_CONFIG).length,
        leaked: 0,
        longestGapMs,
      };
    } catch (error) {
      throw new Error(`${session.cluster.logs()}\n${(error as Error).message}`);
    } finally {
      await session.stop();
    }
  },
};
