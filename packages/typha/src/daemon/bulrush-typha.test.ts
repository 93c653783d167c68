import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { dial, testHello } from "../testing/websocket-client.ts";

const BIN = new URL("../../bin/bulrush-typha.ts", import.meta.url).pathname;

interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(args: readonly string[]): Promise<Finished> {
  const child = spawn(process.execPath, ["--conditions=bulrush-source", BIN, ...args], { stdio: "pipe" });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => (stdout += String(chunk)));
  child.stderr.on("data", (chunk) => (stderr += String(chunk)));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}

test("bulrush-typha --help teaches settings, questions and exit codes; --version says the version", async () => {
  const [help, version, word] = await Promise.all([run(["--help"]), run(["-v"]), run(["version"])]);
  assert.equal(help.code, 0);
  for (const needed of ["BULRUSH_DATASTORE_DIR", "TYPHA_CLIENTCN", "/readiness", "--config-file", "Exit codes"])
    assert.ok(help.stdout.includes(needed), needed);
  assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/);
  assert.equal(word.stdout, version.stdout);
});

test("bulrush-typha ends with 2 and the reason when the command line is wrong", async () => {
  const [option, argument] = await Promise.all([run(["--confg", "x"]), run(["serve"])]);
  assert.equal(option.code, 2);
  assert.match(option.stderr, /--confg/);
  assert.equal(argument.code, 2);
  assert.match(argument.stderr, /Unexpected argument "serve"/);
});

type Line = Readonly<Record<string, unknown>>;

interface Daemon {
  readonly child: ChildProcess;
  readonly directory: string;
  /** The first log line with this message and these fields, now or later. */
  logged(message: string, fields?: Line): Promise<Line>;
  /** The port of its server of this name, once it listens. */
  port(server: "sync" | "health" | "metrics"): Promise<number>;
}

function startDaemon(
  t: TestContext,
  file: string,
  env: (directory: string) => Readonly<Record<string, string>> = () => ({}),
): Daemon {
  const directory = mkdtempSync(join(tmpdir(), "typha-daemon-"));
  writeFileSync(join(directory, "typha.cfg"), file);
  const child = spawn(
    process.execPath,
    ["--conditions=bulrush-source", BIN, "--config-file", join(directory, "typha.cfg")],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: {
        DATASTORE_TYPE: "file",
        BULRUSH_DATASTORE_DIR: directory,
        TYPHA_HEALTHENABLED: "true",
        TYPHA_HEALTHPORT: "0",
        TYPHA_PROMETHEUSMETRICSENABLED: "true",
        TYPHA_PROMETHEUSMETRICSPORT: "0",
        // Below the ports that a kernel gives to those who want any; 0 would be 5473.
        TYPHA_SERVERPORT: String(randomInt(10_000, 30_000)),
        TYPHA_ADMINPORT: "0",
        TYPHA_LOGFILEPATH: "none",
        ...env(directory),
      },
    },
  );
  t.after(() => {
    child.kill("SIGKILL");
    rmSync(directory, { recursive: true });
  });
  const lines: Line[] = [];
  const waiters = new Set<() => void>();
  createInterface(child.stdout).on("line", (line) => {
    lines.push(JSON.parse(line) as Line);
    for (const waiter of waiters) waiter();
  });
  const logged = (message: string, fields: Line = {}): Promise<Line> =>
    new Promise((resolve) => {
      const look = (): void => {
        const line = lines.find((candidate) =>
          Object.entries({ msg: message, ...fields }).every(([name, value]) => candidate[name] === value),
        );
        if (line === undefined) return;
        waiters.delete(look);
        resolve(line);
      };
      waiters.add(look);
      look();
    });
  return {
    child,
    directory,
    logged,
    port: async (server) => {
      const line = server === "sync" ? logged("Listening for sync clients") : logged("Listening", { server });
      return Number((await line)["port"]);
    },
  };
}

function fetchText(port: number, path: string): Promise<{ readonly code: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    get({ port, host: "127.0.0.1", path, agent: false }, (response) => {
      let text = "";
      response.on("data", (chunk) => (text += String(chunk)));
      response.on("end", () => resolve({ code: response.statusCode ?? 0, text }));
    }).on("error", reject);
  });
}

test("bulrush-typha says goodbye to its clients on SIGTERM and ends with 0", async (t) => {
  const daemon = startDaemon(t, "ShutdownTimeoutSecs = 0.2\n");
  const client = dial(await daemon.port("sync"), undefined, testHello("node-1"));
  await client.when((message) => message.type === "status" && message.status === "in-sync");
  assert.equal((await fetchText(await daemon.port("health"), "/readiness")).code, 200);
  assert.match((await fetchText(await daemon.port("metrics"), "/metrics")).text, /^typha_connections_accepted 1$/m);
  const ended = once(daemon.child, "exit");
  daemon.child.kill("SIGTERM");
  assert.equal((await client.next("goodbye")).code, "draining");
  assert.deepEqual(await ended, [0, null]);
});

test("bulrush-typha lives with bad settings, says them in its readiness, and goes on once they are mended", async (t) => {
  const daemon = startDaemon(t, "ClientCN = typha-client\n");
  const problem = await daemon.logged("Bad settings, reading them again every second");
  assert.match(
    JSON.stringify(problem),
    /TLS needs all of its settings; missing: ServerKeyFile, ServerCertFile, CAFile/,
  );
  const healthPort = await daemon.port("health");
  const { code, text } = await fetchText(healthPort, "/readiness");
  assert.equal(code, 503);
  assert.match(text, /bad settings: TLS needs all/);
  assert.equal((await fetchText(healthPort, "/liveness")).code, 200);
  writeFileSync(join(daemon.directory, "new.cfg"), "");
  renameSync(join(daemon.directory, "new.cfg"), join(daemon.directory, "typha.cfg"));
  await daemon.logged("Listening for sync clients");
  const ended = once(daemon.child, "exit");
  daemon.child.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
});

test("bulrush-typha writes a heap snapshot at SIGUSR1, for its user's eyes only, and goes on", async (t) => {
  const daemon = startDaemon(t, "", (directory) => ({
    TYPHA_DEBUGMEMORYPROFILEPATH: join(directory, "heap-<timestamp>.heapsnapshot"),
  }));
  await daemon.logged("Listening for sync clients");
  daemon.child.kill("SIGUSR1");
  const { file } = await daemon.logged("Wrote a heap profile");
  assert.match(String(file), /heap-\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.heapsnapshot$/);
  assert.equal(statSync(String(file)).mode & 0o777, 0o600);
  assert.ok("snapshot" in (JSON.parse(readFileSync(String(file), "utf8")) as object));
  const client = dial(await daemon.port("sync"), undefined, testHello("node-1"));
  await client.when((message) => message.type === "status");
  const ended = once(daemon.child, "exit");
  daemon.child.kill("SIGTERM");
  await client.next("goodbye");
  assert.deepEqual(await ended, [0, null]);
});
