import { relative } from "node:path";
import { PassThrough } from "node:stream";
import { run } from "node:test";
import { spec } from "node:test/reporters";

/** What a test runner tells, as far as it is looked at here. */
interface TestEvent {
  readonly type: string;
  readonly data: {
    readonly name?: string;
    readonly file?: string;
    readonly nesting?: number;
    readonly message?: string;
    readonly skip?: string | boolean;
    readonly details?: { readonly error?: Error; readonly duration_ms?: number };
    readonly counts?: Readonly<Record<string, number>>;
  };
}

/** All that was told of one file. */
export interface FileResult {
  /** As it was given. */
  readonly file: string;
  readonly events: readonly TestEvent[];
  readonly passed: number;
  /** The end of what it wrote, errors that no test caught among it. */
  readonly written: string;
  /** Each with what was said of it. */
  readonly failures: readonly { readonly name: string; readonly text: string }[];
  /** The process ended well, but before all its tests had run; or it has none. */
  readonly isCutShort: boolean;
  /** Each with its reason, "" for none. */
  readonly skips: readonly { readonly name: string; readonly reason: string }[];
}

/** Most of an error, or of what a file wrote, that is repeated. */
const MAX_REPEATED_CHARACTERS = 4000;
/** What a file writes beyond this is cut off before it. */
const MAX_WRITTEN_CHARACTERS = 16 * 1024 * 1024;
const NODE_OPTIONS = ["--conditions=bulrush-source"];
/** Of a file: all the scenarios are one. */
const FILE_TIMEOUT_MS = 60 * 60_000;

/** Runs test files, each in a process of its own, `concurrency` at a time, and calls `onResult` with each as it ends. */
export async function runTestFiles(
  files: readonly string[],
  concurrency: number,
  onResult: (result: FileResult) => void,
): Promise<void> {
  const waiting = [...files];
  const runNext = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) onResult(await runTestFile(file));
  };
  await Promise.all(Array.from({ length: concurrency }, runNext));
}

/** One run a file: in a run of many, what a test tells names the file that its code is in, which may be another. */
async function runTestFile(file: string): Promise<FileResult> {
  if (process.stderr.isTTY) process.stderr.write(`${relative(process.cwd(), file)} ...\n`);
  const events: TestEvent[] = [];
  let characters = 0;
  const stream = run({ files: [file], execArgv: NODE_OPTIONS, timeout: FILE_TIMEOUT_MS });
  for await (const event of stream as AsyncIterable<TestEvent>) {
    // What has no file is of the whole run: its sums.
    if (event.data.file === undefined) continue;
    if (WRITING.has(event.type)) characters += event.data.message?.length ?? 0;
    if (!WRITING.has(event.type) || characters <= MAX_WRITTEN_CHARACTERS) events.push(event);
  }
  return resultOf(file, events);
}

const WRITING: ReadonlySet<string> = new Set(["test:stdout", "test:stderr", "test:diagnostic"]);

function resultOf(file: string, events: readonly TestEvent[]): FileResult {
  const named = (type: string): TestEvent[] => events.filter((event) => event.type === type);
  const isSkip = ({ data }: TestEvent): boolean => data.skip !== undefined && data.skip !== false;
  const done = named("test:pass");
  const failures = named("test:fail").map(({ data }) => ({
    name: data.name ?? file,
    text: errorText(data.details?.error).slice(0, MAX_REPEATED_CHARACTERS),
  }));
  const written = events.filter(({ type }) => WRITING.has(type)).map(({ data }) => data.message ?? "");
  return {
    file,
    events,
    passed: done.filter((event) => !isSkip(event)).length,
    written: written.join("").slice(-MAX_REPEATED_CHARACTERS),
    failures,
    // Whoever ends the process ends the tests that were still to come.
    isCutShort: failures.length === 0 && named("test:summary").length === 0,
    skips: done
      .filter(isSkip)
      .map(({ data }) => ({ name: data.name ?? "", reason: typeof data.skip === "string" ? data.skip : "" })),
  };
}

/** The runner wraps what a test threw. */
function errorText(error: Error | undefined): string {
  const { cause } = error ?? {};
  return cause instanceof Error ? (cause.stack ?? cause.message) : (error?.message ?? "no reason was given");
}

const COUNTS = ["tests", "suites", "passed", "failed", "cancelled", "skipped", "todo"] as const;
/** As the runner calls them in its closing lines. */
const SHOWN: Readonly<Record<string, string>> = { passed: "pass", failed: "fail" };

/** Writes results to the standard output as the runner's own reporter does, and closes with its sums. */
export class ResultPrinter {
  readonly #events = new PassThrough({ objectMode: true });
  readonly #written: Promise<void>;
  readonly #counts = new Map<string, number>();
  readonly #startMs: number;

  constructor(startMs: number) {
    this.#startMs = startMs;
    this.#written = (async () => {
      for await (const chunk of this.#events.compose(spec)) process.stdout.write(String(chunk));
    })();
  }

  print(result: FileResult): void {
    const summary = result.events.find((event) => event.type === "test:summary")?.data.counts;
    // A process that died before it could sum up is one test of the runner's, and a failed one.
    const counts = summary ?? { tests: result.failures.length, failed: result.failures.length };
    for (const name of COUNTS) this.#counts.set(name, (this.#counts.get(name) ?? 0) + (counts[name] ?? 0));
    for (const event of result.events) if (event.type !== "test:summary") this.#events.write(event);
  }

  /** The sums, and all that failed once more. Nothing can be printed after it. */
  async close(nowMs: number): Promise<void> {
    const lines = COUNTS.map((name) => `${SHOWN[name] ?? name} ${this.#counts.get(name) ?? 0}`);
    for (const message of [...lines, `duration_ms ${nowMs - this.#startMs}`])
      this.#events.write({ type: "test:diagnostic", data: { nesting: 0, message, level: "info" } });
    this.#events.end();
    await this.#written;
  }
}

/** What a file's first try came to, for a reader who has nothing but the end of the output. */
export function describeFailures(root: string, { file, failures, written }: FileResult): string {
  const lines = failures.map(({ name, text }) => `  ${name}\n${text.replaceAll(/^/gm, "    ")}`);
  if (written !== "") lines.push(`  it wrote:\n${written.replaceAll(/^/gm, "    ")}`);
  return [`${relative(root, file)} failed at its first try and passed at its second:`, ...lines, ""].join("\n");
}
