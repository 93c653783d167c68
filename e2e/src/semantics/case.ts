import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** One expectation of a case: does this connection open? */
export interface SemanticsFlow {
  /** Pods, or workloads of another kind, as `namespace/name`. */
  readonly from: string;
  readonly to: string;
  readonly protocol: "TCP" | "UDP" | "SCTP";
  /** The destination port. */
  readonly port: number;
  /** The port that the connection starts from; absent: some port that no policy of the case names. */
  readonly sourcePort?: number;
  /** Absent: IPv4 where both ends have it. */
  readonly ipVersion?: 4 | 6;
  readonly verdict: "allow" | "deny";
  /** Line of the flow file, from 1. */
  readonly line: number;
}

export interface SemanticsCase {
  /** The files' common name, as `14-tier-order`. */
  readonly name: string;
  /** What the case shows, in words: the first comment of its manifests. */
  readonly title: string;
  /** The manifests in the order to load them: the world, then the case's own. */
  readonly manifests: readonly string[];
  readonly flowFile: string;
  readonly flows: readonly SemanticsFlow[];
  /** Something in the manifests is bad on purpose and must be reported; otherwise nothing may be. */
  readonly reportsProblems: boolean;
  /** It has endpoints that are no pods, so it cannot be tried with real connections. */
  readonly explainOnly: boolean;
}

/** Where the cases lie: `world.yaml`, and `NN-title.yaml` beside `NN-title.flows`. */
const SEMANTICS_DIRECTORY = join(import.meta.dirname, "..", "..", "testdata", "semantics");

const WORLD = "world.yaml";
const FLOW =
  /^(?<from>[a-z0-9-]+\/[a-z0-9-]+)(?::(?<sourcePort>\d+))? -> (?<to>[a-z0-9-]+\/[a-z0-9-]+) (?<protocol>TCP|UDP|SCTP)\/(?<port>\d+)(?: v(?<family>4|6))? (?<verdict>allow|deny)$/;
const DIRECTIVES = ["reports-problems", "explain-only"] as const;

interface FlowFile {
  readonly flows: readonly SemanticsFlow[];
  readonly directives: ReadonlySet<string>;
}

/**
 * Reads a flow file: a line is a flow (`x/a:4000 -> y/b TCP/80 v6 allow`, source port and family optional), one of the
 * words `reports-problems` and `explain-only`, or blank; `#` starts a comment. Throws an Error that names file and line
 * at anything else, and at a flow that stands there twice.
 */
export function parseFlows(text: string, file: string): FlowFile {
  const flows: SemanticsFlow[] = [];
  const directives = new Set<string>();
  const seen = new Map<string, number>();
  for (const [i, raw] of text.split("\n").entries()) {
    const line = i + 1;
    const content = raw.replace(/#.*/, "").trim().replaceAll(/\s+/g, " ");
    if (content === "") continue;
    if (DIRECTIVES.some((directive) => directive === content)) {
      directives.add(content);
      continue;
    }
    const groups = FLOW.exec(content)?.groups;
    if (groups === undefined) throw new Error(`${file}:${line}: Not a flow or directive: "${content}"`);
    const flow = readFlow(groups, line);
    if (flow.from === flow.to) throw new Error(`${file}:${line}: A flow of ${flow.from} to itself`);
    if (!isPort(flow.port) || (flow.sourcePort !== undefined && !isPort(flow.sourcePort)))
      throw new Error(`${file}:${line}: A port must be 1-65535`);
    const key = content.replace(/ (allow|deny)$/, "");
    const earlier = seen.get(key);
    if (earlier !== undefined) throw new Error(`${file}:${line}: The flow of line ${earlier} again`);
    seen.set(key, line);
    flows.push(flow);
  }
  return { flows, directives };
}

function readFlow(groups: Readonly<Record<string, string | undefined>>, line: number): SemanticsFlow {
  const { from = "", to = "", port, sourcePort, family } = groups;
  return {
    from,
    to,
    protocol: groups["protocol"] as SemanticsFlow["protocol"],
    port: Number(port),
    ...(sourcePort === undefined ? {} : { sourcePort: Number(sourcePort) }),
    ...(family === undefined ? {} : { ipVersion: family === "6" ? 6 : 4 }),
    verdict: groups["verdict"] as SemanticsFlow["verdict"],
    line,
  };
}

function isPort(port: number): boolean {
  return port >= 1 && port <= 65_535;
}

/** The first comment of a manifest file. Throws an Error where the file does not start with one. */
export function parseTitle(text: string, file: string): string {
  const first = /^# (?<title>\S.*)/.exec(text)?.groups?.["title"];
  if (first === undefined) throw new Error(`${file}:1: The first line must be a comment that says what is shown`);
  return first.trim();
}

/** Every case of the directory, in the order of their numbers. Throws an Error at a file without its partner. */
export function loadSemanticsCases(directory: string = SEMANTICS_DIRECTORY): SemanticsCase[] {
  const files = readdirSync(directory).filter((file) => file !== WORLD);
  const names = [...new Set(files.map((file) => file.replace(/\.(yaml|flows)$/, "")))].sort();
  return names.map((name) => {
    for (const extension of ["yaml", "flows"])
      if (!files.includes(`${name}.${extension}`)) throw new Error(`${directory}: There is no ${name}.${extension}`);
    const manifest = join(directory, `${name}.yaml`);
    const flowFile = join(directory, `${name}.flows`);
    const { flows, directives } = parseFlows(readFileSync(flowFile, "utf8"), flowFile);
    return {
      name,
      title: parseTitle(readFileSync(manifest, "utf8"), manifest),
      manifests: [join(directory, WORLD), manifest],
      flowFile,
      flows,
      reportsProblems: directives.has("reports-problems"),
      explainOnly: directives.has("explain-only"),
    };
  });
}

/** The flow in the words of its file. */
export function describeSemanticsFlow(flow: SemanticsFlow): string {
  const from = flow.sourcePort === undefined ? flow.from : `${flow.from}:${flow.sourcePort}`;
  const family = flow.ipVersion === undefined ? "" : ` v${flow.ipVersion}`;
  return `${from} -> ${flow.to} ${flow.protocol}/${flow.port}${family}`;
}
