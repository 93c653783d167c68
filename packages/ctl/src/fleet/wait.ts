import { sleep, systemClock } from "@bulrush/base";
import { plainValue, type Update } from "@bulrush/model";
import { hashValue } from "@bulrush/proto";
import type { ClientsView, CompareAnswer, ComparedKV, CompareQuestion } from "@bulrush/typha";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { usageError } from "../errors.ts";
import { FILE_OPTION, readManifestsAloud } from "../input/manifests.ts";
import { ADMIN_OPTIONS, type AdminClient, adminClients } from "./admin-client.ts";

/** KVs in one question, and characters of them: the admin API takes somewhat more. */
const MAX_COMPARED = 10_000;
const MAX_QUESTION_CHARACTERS = 4_000_000;
const POLL_MS = 250;
const DEFAULT_TIMEOUT_SECS = 300;
/** Names in a list that is too long. */
const MAX_NAMES = 20;
/** Under these paths a value has what the store adds, besides what the manifest says. */
const STORED_RESOURCES = "/calico/resources/";
/** What of a manifest's metadata a store does not take, or keeps to itself. */
const STORE_METADATA: ReadonlySet<string> = new Set([
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
  "selfLink",
]);

/** bulrushctl wait -f PATH */
export const wait: Command = {
  name: "wait",
  summary: "Wait until every agent has what is in manifests in its kernel",
  usage: ["wait -f PATH [--admin URL]... [--nodes N1,N2] [--timeout SECS]"],
  description: [
    "Returns as soon as each Typha has what the manifests become, and every agent that is connected to one of them has reported it as in force. On time-out: exit 1, and who or what is missing.",
    "Policies, network sets, pods and endpoints must be just as they are here. Resources that agents get as they are stored (nodes, Services, profiles as resources) must have every field that they have here, but for `status`, and may have what the store adds.",
  ],
  options: [
    FILE_OPTION,
    ...ADMIN_OPTIONS,
    {
      name: "nodes",
      value: "N1,N2",
      doc: "Nodes whose agents must be among the connected ones. Default: whoever is connected, at least one.",
    },
    { name: "timeout", value: "SECS", doc: `Default: ${DEFAULT_TIMEOUT_SECS}.` },
  ],
  examples: [
    {
      what: "in a pipeline",
      line: "kubectl apply -f policy.yaml && bulrushctl wait -f policy.yaml --admin http://localhost:9097",
    },
  ],
  run: runWait,
};

interface Wanted {
  readonly kvs: readonly ComparedKV[];
  readonly nodes: readonly string[];
}

async function runWait(args: Arguments, io: CommandIo): Promise<number> {
  const timeoutMs = 1000 * secondsOf(args.get("timeout") ?? String(DEFAULT_TIMEOUT_SECS));
  const { updates } = await readManifestsAloud(args.need("file"), io);
  const kvs = updates.map(toCompared);
  if (kvs.length === 0) throw usageError("Nothing in these manifests is told to agents as it is written");
  const nodes = args
    .all("nodes")
    .flatMap((text) => text.split(","))
    .filter((name) => name !== "");
  const admins = await adminClients(args, io);
  const clock = systemClock({ keepAlive: true });
  const since: Since = new Map();
  const endMs = clock.monotonicMs() + timeoutMs;
  for (;;) {
    const missing = await missingOf(admins, { kvs, nodes }, since);
    if (missing === undefined) {
      await io.out.write(`${kvs.length} keys are in force\n`);
      return 0;
    }
    if (clock.monotonicMs() >= endMs) {
      await io.err.write(`${io.err.style("red", "error:")} Not in force after ${timeoutMs / 1000} s: ${missing}\n`);
      return 1;
    }
    await sleep(clock, POLL_MS);
  }
}

function toCompared({ path, value }: Update): ComparedKV {
  if (value === undefined) return { path, hash: null };
  if (path.startsWith(STORED_RESOURCES)) return { path, includes: withoutStoreFields(plainValue(value)) };
  return { path, hash: Buffer.from(hashValue(path, value), "latin1").toString("base64") };
}

/** A resource without its status and what of its metadata is the store's. */
function withoutStoreFields(resource: unknown): unknown {
  const { status: _, metadata, ...rest } = resource as Readonly<Record<string, unknown>>;
  const own = Object.entries(metadata ?? {}).filter(([name]) => !STORE_METADATA.has(name));
  return { ...rest, metadata: Object.fromEntries(own) };
}

/** Parts that the admin API takes. */
function* questionsOf(kvs: readonly ComparedKV[]): Generator<CompareQuestion> {
  let part: ComparedKV[] = [];
  let characters = 0;
  for (const kv of kvs) {
    part.push(kv);
    characters += "includes" in kv ? JSON.stringify(kv).length : kv.path.length;
    if (part.length < MAX_COMPARED && characters < MAX_QUESTION_CHARACTERS) continue;
    yield { syncer: "felix", kvs: part };
    part = [];
    characters = 0;
  }
  if (part.length > 0) yield { syncer: "felix", kvs: part };
}

/** What is not there yet, in words; undefined: all is. */
async function missingOf(
  admins: readonly AdminClient[],
  { kvs, nodes }: Wanted,
  since: Since,
): Promise<string | undefined> {
  const perTypha = await Promise.all(admins.map((admin) => stateOf(admin, kvs, since)));
  const parts: string[] = [];
  for (const { url, differing, late } of perTypha) {
    if (differing.length > 0) parts.push(`${url} does not have ${listOf(differing)}`);
    if (late.length > 0) parts.push(`it is not in force on ${listOf(late)}`);
  }
  const known = new Set(perTypha.flatMap(({ connected }) => connected));
  const absent = nodes.filter((name) => !known.has(name));
  if (absent.length > 0) parts.push(`no agent is connected of ${listOf(absent)}`);
  if (known.size === 0) parts.push("no agent is connected");
  return parts.length === 0 ? undefined : parts.join("; ");
}

/**
 * For each Typha the sequence since which it has had everything. While other things change all the time, agents are never
 * at its newest one.
 */
type Since = Map<string, { readonly epoch: string; readonly sequence: number }>;

interface TyphaState {
  readonly url: string;
  readonly differing: readonly string[];
  readonly connected: readonly string[];
  /** Connected, but what is asked for is not in force there. */
  readonly late: readonly string[];
}

async function stateOf(admin: AdminClient, kvs: readonly ComparedKV[], since: Since): Promise<TyphaState> {
  const differing: string[] = [];
  let [epoch, sequence] = ["", 0];
  for (const question of questionsOf(kvs)) {
    const answer = await admin.post<CompareAnswer>("/api/v1/compare", question);
    differing.push(...answer.differing);
    ({ epoch, sequence } = answer);
  }
  const before = since.get(admin.url);
  if (differing.length > 0) since.delete(admin.url);
  else if (before?.epoch === epoch) ({ sequence } = before);
  else since.set(admin.url, { epoch, sequence });
  // Asked after the comparison: whoever has this sequence in force has what was compared then.
  const { clients } = await admin.get<ClientsView>("/api/v1/clients");
  const agents = clients.filter(({ syncer }) => syncer === "felix");
  const late = differing.length > 0 ? [] : agents.filter(({ appliedSequence }) => (appliedSequence ?? -1) < sequence);
  return {
    url: admin.url,
    differing,
    connected: agents.map(({ hostname }) => hostname),
    late: late.map(({ hostname }) => hostname),
  };
}

function listOf(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(", ");
  return names.length > MAX_NAMES ? `${shown} and ${names.length - MAX_NAMES} more` : shown;
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (text.trim() === "" || !(seconds >= 0) || seconds > 86_400)
    throw usageError(`--timeout ${text} is not a number of seconds`);
  return seconds;
}
