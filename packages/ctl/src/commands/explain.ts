import { messageOf } from "@bulrush/base";
import { type FlowText, type FlowVerdict, parseFlow } from "@bulrush/calc";
import { SOCKET_OPTION } from "../agent/agent-client.ts";
import { explainByAgent } from "../agent/explain-by-agent.ts";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { inputError, usageError } from "../errors.ts";
import { type Explainer, explainerFor } from "../flow/explain-input.ts";
import { manifestReader, storeReader, withSources } from "../flow/find-source.ts";
import { type FlowTitle, verdictRecord, verdictText } from "../flow/print-verdict.ts";
import { readLines } from "../input/lines.ts";
import { unreadText } from "../input/manifests.ts";
import { readWorld, type World, WORLD_OPTIONS } from "../input/world.ts";
import { outputFormat, outputOption, printItems, printValue } from "../output/format.ts";

const FORMATS = ["text", "json", "ndjson", "yaml"] as const;

/** bulrushctl explain -f PATH --from A --to B ..., or --flows FILE */
export const explain: Command = {
  name: "explain",
  summary: "Say whether a connection is allowed, and which rule decides",
  usage: [
    "explain -f PATH | --live  --from POD|IP --to POD|IP --protocol PROTO --port PORT [-o FORMAT]",
    "explain -f PATH | --live  --flows FILE [-o FORMAT]",
    "explain --agent [--socket PATH]  --from POD|IP --to POD|IP --protocol PROTO --port PORT [-o FORMAT]",
  ],
  description: [
    "Judges the first packet of a connection with the same graph that the agents program the kernel from, and names the tier, policy and rule that decide: once for the sender's side (egress), once for the receiver's (ingress). A connection is allowed when every side that is a known pod or host allows it. Rules count from 0.",
    "Where the deciding rule was written is said by file, line of the object and field: one rule of Kubernetes becomes several of an agent, in whose numbers `rules` translates too. It says as well what would decide if the deciding rule were not there, and what would change if staged policies were enforced. Host endpoints on the way are judged in the order of the kernel: doNotTrack, preDNAT, then normal policy for what starts or ends at the host, or applyOnForward for what passes through it. Failsafe ports come first.",
    'A pod is written namespace/name. With --flows, each line of a file (or - for standard input) is a flow, {"from","to","protocol","port"}, and each line out is its answer, in order; a flow that cannot be judged gets {"error"}. One to a service has its "backends", and the verdict of all of them: allow, deny or mixed.',
    "With --steps, and with -o json, the answer has every step that was looked at, with the terms of selectors that fail, and the policies that do not apply to the endpoint, with why.",
    "With --agent the agent of this host judges, by the very messages that its kernel was programmed from, and says if they may not be in the kernel yet: what --live says and this does not has not come to the host. It knows the pods of its own host; the other end is an address.",
    "A resource that cannot be read is named on standard error, and flows are judged on what stands in its place: nothing, or something that denies. The exit code stays 0; `validate` and `test` give another.",
  ],
  options: [
    ...WORLD_OPTIONS,
    { name: "agent", doc: "Instead: what the agent of this host was told; at its own pods." },
    SOCKET_OPTION,
    {
      name: "from",
      value: "POD|IP",
      doc: "Who connects: namespace/pod, an address, node:NAME or hostendpoint:NODE/NAME.",
    },
    { name: "to", value: "POD|IP", doc: "To whom: the same, or service:NAMESPACE/NAME for all of its backends." },
    {
      name: "protocol",
      value: "PROTO",
      doc: "tcp, udp, sctp, icmp, icmpv6, udplite in any case, or a number. Default: tcp.",
    },
    { name: "port", short: "p", value: "PORT", doc: "Destination port." },
    { name: "source-port", value: "PORT", doc: "Source port: only rules that ask for one look at it." },
    { name: "icmp-type", value: "TYPE", doc: "ICMP type, for icmp and icmpv6." },
    { name: "icmp-code", value: "CODE", doc: "ICMP code, for icmp and icmpv6." },
    {
      name: "ip-version",
      value: "4|6",
      doc: "Which addresses two dual-stack pods use. Default: 4 where both have one.",
    },
    { name: "flows", value: "FILE", doc: "Judge many flows, one JSON object a line." },
    { name: "steps", doc: "Show every step. -o json does so for a single flow anyway." },
    outputOption(FORMATS, "text, ndjson with --flows"),
  ],
  examples: [
    {
      what: "may the shop reach its database by its service, as things stand now?",
      line: "bulrushctl explain --live --from shop/web --to service:shop/db --port 5432",
    },
    {
      what: "may the shop reach its database?",
      line: "bulrushctl explain -f cluster/ --from shop/web --to shop/db --protocol TCP --port 5432",
    },
    {
      what: "and somebody outside the shop? show what was looked at",
      line: "bulrushctl explain -f cluster/ --from 203.0.113.7 --to shop/web --port 80 --steps",
    },
    {
      what: "does this host do the same? (on the host, as root)",
      line: "bulrushctl explain --agent --from 10.65.1.10 --to shop/db --port 5432",
    },
    {
      what: "a whole list",
      line: `echo '{"from":"shop/web","to":"shop/db","protocol":"TCP","port":5432}' | bulrushctl explain -f cluster/ --flows -`,
    },
  ],
  run: runExplain,
};

const SINGLE_FLOW_OPTIONS = ["from", "to", "protocol", "port", "source-port", "icmp-type", "icmp-code"];

async function runExplain(args: Arguments, io: CommandIo): Promise<number> {
  const flows = args.get("flows");
  if (flows === undefined) return explainOne(args, io);
  const extra = SINGLE_FLOW_OPTIONS.find((name) => args.has(name));
  if (extra !== undefined) throw usageError(`--${extra} does not go with --flows: it stands in each line`);
  if (args.get("file") === "-" && flows === "-") throw usageError("-f - and --flows - both want standard input");
  const format = outputFormat(args, FORMATS, "ndjson");
  if (format === "text") throw usageError("--flows prints json, ndjson or yaml");
  const explainer = await explainerFor(await readExplained(args, io));
  const withSteps = args.has("steps") || format === "json";
  await printItems(io.out, format, answers(flows, args.get("ip-version"), explainer, withSteps, io));
  return 0;
}

async function explainOne(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const text: FlowText = {
    from: args.need("from"),
    to: args.need("to"),
    protocol: args.get("protocol") ?? "tcp",
    port: args.get("port"),
    sourcePort: args.get("source-port"),
    icmpType: args.get("icmp-type"),
    icmpCode: args.get("icmp-code"),
    ipVersion: args.get("ip-version"),
  };
  if (args.has("agent")) {
    const verdict = await explainByAgent(args, text);
    const withSteps = args.has("steps") || format === "json";
    if (format !== "text") await printValue(io.out, format, verdictRecord(verdict, withSteps));
    else await io.out.write(verdictText(titleOf(text, String(text.to)), verdict, io.out, withSteps));
    return 0;
  }
  const world = await readExplained(args, io);
  const explainer = await explainerFor(world);
  const targets = explainer.targets(text);
  if ("problem" in targets) throw inputError(targets.problem);
  const { service } = targets;
  const parsed = targets.flows.map((target) => ({ ...target, ...parseFlow(target, explainer.ends) }));
  const withSteps = args.has("steps") || format === "json";
  const flows = parsed.map((target) => {
    if ("problem" in target) throw inputError(target.problem);
    return { to: String(target.to), flow: target.flow };
  });
  const verdicts = await withSources(
    flows.map(({ flow }) => withNote(explainer.explain(flow, true), targets.note)),
    args.has("live") ? storeReader(io) : manifestReader(world),
  );
  const answers = verdicts.flatMap((verdict, i) => (flows[i] === undefined ? [] : [{ ...flows[i], verdict }]));
  if (format !== "text") {
    const records = answers.map(({ to, flow, verdict }) =>
      service === undefined
        ? verdictRecord(verdict, withSteps)
        : { to, port: flow.port, ...verdictRecord(verdict, withSteps) },
    );
    await printValue(io.out, format, service === undefined ? records[0] : { service, backends: records });
    return 0;
  }
  for (const [i, { to, flow, verdict }] of answers.entries()) {
    if (i > 0) await io.out.write("\n");
    await io.out.write(verdictText(titleOf({ ...text, ...flow }, to), verdict, io.out, withSteps));
  }
  return 0;
}

/** The flow as it was asked for, to one of its ends. */
function titleOf({ from, port, protocol }: Pick<FlowText, "from" | "port" | "protocol">, to: string): FlowTitle {
  const number = port === undefined ? "" : ` ${String(port as string | number)}`;
  return { from: String(from), to, what: `${String(protocol).toUpperCase()}${number}` };
}

/** Says with what is bad that the answers may be other than they would be. */
async function readExplained(args: Arguments, io: CommandIo): Promise<World> {
  const world = await readWorld(args, io);
  const unread = unreadText(world.problems);
  if (unread !== undefined)
    await io.err.write(`${io.err.style("yellow", "warning:")} ${unread}: verdicts may be other than with all\n`);
  return world;
}

/** One answer a line, in the order of the lines. Nothing but the line at hand is held. */
async function* answers(
  path: string,
  ipVersion: string | undefined,
  explainer: Explainer,
  withSteps: boolean,
  io: CommandIo,
): AsyncGenerator<Record<string, unknown>> {
  for await (const { number, text } of readLines(path, io)) {
    const line = parseFlowLine(text);
    if (typeof line === "string") {
      yield { error: `Line ${number}: ${line}` };
      continue;
    }
    yield { ...line, ...answerOf({ ...(ipVersion !== undefined && { ipVersion }), ...line }, explainer, withSteps) };
  }
}

function answerOf(text: FlowText, explainer: Explainer, withSteps: boolean): Record<string, unknown> {
  const targets = explainer.targets(text);
  if ("problem" in targets) return { error: targets.problem };
  const backends: Record<string, unknown>[] = [];
  for (const target of targets.flows) {
    const parsed = parseFlow(target, explainer.ends);
    if ("problem" in parsed) return { error: parsed.problem };
    const verdict = withNote(explainer.explain(parsed.flow, withSteps), targets.note);
    const record = verdictRecord(verdict, withSteps);
    if (targets.service === undefined) return record;
    backends.push({ to: target.to, port: target.port, ...record });
  }
  const verdicts = new Set(backends.map(({ verdict }) => verdict));
  return { verdict: verdicts.size === 1 ? [...verdicts][0] : "mixed", backends };
}

function withNote(verdict: FlowVerdict, note: string | undefined): FlowVerdict {
  return note === undefined ? verdict : { ...verdict, notes: [...(verdict.notes ?? []), note] };
}

/** Only the fields of a flow are kept: they come back with the answer. */
function parseFlowLine(text: string): FlowText | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `not JSON: ${messageOf(error)}`;
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) return "not a JSON object";
  const { from, to, protocol, port, sourcePort, icmpType, icmpCode, ipVersion } = value as Record<string, unknown>;
  const line = { from, to, protocol, port, sourcePort, icmpType, icmpCode, ipVersion };
  return Object.fromEntries(Object.entries(line).filter(([, field]) => field !== undefined)) as unknown as FlowText;
}
