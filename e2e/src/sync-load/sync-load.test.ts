import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { must } from "@bulrush/base";
import { freePorts } from "../kube/free-ports.ts";
import { Program } from "../lab/program.ts";
import { readArguments } from "./load-arguments.ts";
import { formatFigures, type LoadFigures } from "./load-figures.ts";
import { runLoad } from "./run-load.ts";

const MAIN: string = join(import.meta.dirname, "main.ts");
const SETS = 200;

let directory = "";
let server = "";
let typha: Program | undefined;

function writeSet(index: number, version: number): void {
  const manifest = {
    apiVersion: "projectcalico.org/v3",
    kind: "GlobalNetworkSet",
    metadata: { name: `set-${index}`, labels: { version: `v${version}` } },
    spec: { nets: ["10.0.0.0/8"] },
  };
  writeFileSync(join(directory, `set-${index}.json`), JSON.stringify(manifest));
}

before(async () => {
  directory = mkdtempSync(join(tmpdir(), "bulrush-load-"));
  const [port = 0, adminPort = 0] = await freePorts(2);
  server = `127.0.0.1:${port}`;
  for (let i = 0; i < SETS; i++) writeSet(i, 0);
  typha = Program.start({
    name: "bulrush-typha",
    env: {
      DATASTORE_TYPE: "file",
      BULRUSH_DATASTORE_DIR: directory,
      TYPHA_LOGFILEPATH: "none",
      TYPHA_SERVERHOST: "127.0.0.1",
      TYPHA_SERVERPORT: String(port),
      TYPHA_ADMINPORT: String(adminPort),
    },
    logFile: join(directory, "typha.log"),
  });
});
after(async () => {
  await typha?.stop("SIGKILL");
  rmSync(directory, { recursive: true });
});

/** Runs until `isEnough` holds, while things change. */
async function load(argv: readonly string[], isEnough: (figures: LoadFigures) => boolean): Promise<LoadFigures> {
  const args = must(readArguments(["--server", server, "--seconds", "600", "--settle", "600", ...argv]), "arguments");
  const abort = new AbortController();
  let version = 0;
  const writer = setInterval(() => writeSet(++version % SETS, version), 100);
  try {
    return await runLoad({
      ...args,
      program: MAIN,
      progressMs: 300,
      signal: abort.signal,
      onProgress: (figures) => {
        if (isEnough(figures)) {
          clearInterval(writer);
          abort.abort();
        }
      },
    });
  } finally {
    clearInterval(writer);
  }
}

test("good clients are served and measured beside bad ones, which are ended for what they do", async () => {
  const argv = ["--clients", "20", "--judged", "2", "--processes", "2", "--storm", "10", "--storm-every", "1"];
  const bad = ["--garbage", "8", "--half-open", "8", "--slow-reader", "2", "--black-hole", "2", "--flood", "2"];
  const figures = await load([...argv, ...bad], ({ latencyMs, bad: { garbage, flood }, endings, judged }) => {
    const isMeasured = latencyMs.count > 50 && judged.updates > SETS * 2;
    return (
      isMeasured &&
      (garbage?.["reject bad-message"] ?? 0) > 0 &&
      Object.keys(flood ?? {}).length > 0 &&
      (endings["dropped by us"] ?? 0) > 0
    );
  });
  assert.deepEqual(figures.problems, []);
  assert.deepEqual([figures.inSync, figures.judged.inSync, figures.judged.differentStates], [20, 2, 1]);
  assert.ok(figures.judged.keys >= SETS);
  assert.ok(figures.connectMs.count >= 20);
  assert.equal(figures.gaps, 0);
  assert.match(formatFigures(figures), /^clients in sync +20 of 20, after \d+ dials\n/);
});

test("the program says what it is for, and what is wrong with its command line", () => {
  const run = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, ["--conditions=bulrush-source", MAIN, ...args], { encoding: "utf8" });
  const help = run("--help");
  assert.equal(help.status, 0);
  assert.match(help.stdout, /^Usage: bulrush-sync-load --server/);
  const wrong = run("--server", "nowhere");
  assert.equal(wrong.status, 2);
  assert.match(wrong.stderr, /"nowhere" is not host:port\nTry bulrush-sync-load --help/);
  const unreadable = run(
    "--server",
    server,
    "--ca",
    "/nowhere",
    "--cert",
    "/nowhere",
    "--key",
    "/nowhere",
    "--server-cn",
    "x",
  );
  assert.equal(unreadable.status, 1);
  assert.match(unreadable.stderr, /Cannot read \/nowhere/);
});

test("as a program: JSON on its last line, and exit code 1 where nobody answers", () => {
  const run = (address: string, ...args: string[]): { status: number | null; figures: LoadFigures } => {
    const { status, stdout } = spawnSync(
      process.execPath,
      ["--conditions=bulrush-source", MAIN, "--server", address, "--json", "--clients", "5", ...args],
      { encoding: "utf8" },
    );
    return { status, figures: JSON.parse(stdout) as LoadFigures };
  };
  const good = run(server, "--judged", "1", "--seconds", "0", "--settle", "600");
  assert.deepEqual([good.status, good.figures.inSync, good.figures.problems], [0, 5, []]);
  // Nobody listens on port 1.
  const lost = run("127.0.0.1:1", "--seconds", "0", "--settle", "0");
  assert.deepEqual([lost.status, lost.figures.problems], [1, ["5 of 5 clients are not in sync"]]);
});
