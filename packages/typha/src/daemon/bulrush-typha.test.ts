import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { type AddressInfo, createServer } from "node:net";
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

/** Ports that were free a moment ago. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) server.close();
  return ports;
}

interface Daemon {
  readonly child: ChildProcess;
  readonly directory: string;
  readonly syncPort: number;
  readonly healthPort: number;
  readonly metricsPort: number;
  /** The first log line with this message, now or later. */
  logged(message: string): Promise<Readonly<Record<string, unknown>>>;
}

async function startDaemon(
  t: TestContext,
  file: string,
  env: (directory: string) => Readonly<Record<string, string>> = () => ({}),
): Promise<Daemon> {
  const directory = mkdtempSync(join(tmpdir(), "typha-daemon-"));
  const [syncPort = 0, healthPort = 0, metricsPort = 0] = await freePorts(3);
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
        TYPHA_HEALTHPORT: String(healthPort),
        TYPHA_PROMETHEUSMETRICSENABLED: "true",
        TYPHA_PROMETHEUSMETRICSPORT: String(metricsPort),
        TYPHA_SERVERPORT: String(syncPort),
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
  const lines: Readonly<Record<string, unknown>>[] = [];
  const waiters = new Set<() => void>();
  createInterface(child.stdout).on("line", (line) => {
    lines.push(JSON.parse(line) as Record<string, unknown>);
    for (const waiter of waiters) waiter();
  });
  const logged = (message: string): Promise<Readonly<Record<string, unknown>>> =>
    new Promise((resolve) => {
      const look = (): void => {
        const line = lines.find((candidate) => candidate["msg"] === message);
        if (line === undefined) return;
        waiters.delete(look);
        resolve(line);
      };
      waiters.add(look);
      look();
    });
  return { child, directory, syncPort, healthPort, metricsPort, logged };
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
  const daemon = await startDaemon(t, "ShutdownTimeoutSecs = 0.2\n");
  await daemon.logged("Listening for sync clients");
  const client = dial(daemon.syncPort, undefined, testHello("node-1"));
  await client.when((message) => message.type === "status" && message.status === "in-sync");
  assert.equal((await fetchText(daemon.healthPort, "/readiness")).code, 200);
  assert.match((await fetchText(daemon.metricsPort, "/metrics")).text, /^typha_connections_accepted 1$/m);
  const ended = once(daemon.child, "exit");
  daemon.child.kill("SIGTERM");
  assert.equal((await client.next("goodbye")).code, "draining");
  assert.deepEqual(await ended, [0, null]);
});

test("bulrush-typha lives with bad settings, says them in its readiness, and goes on once they are mended", async (t) => {
  const daemon = await startDaemon(t, "ClientCN = typha-client\n");
  const problem = await daemon.logged("Bad settings, reading them again every second");
  assert.match(
    JSON.stringify(problem),
    /TLS needs all of its settings; missing: ServerKeyFile, ServerCertFile, CAFile/,
  );
  await daemon.logged("Listening");
  const { code, text } = await fetchText(daemon.healthPort, "/readiness");
  assert.equal(code, 503);
  assert.match(text, /bad settings: TLS needs all/);
  assert.equal((await fetchText(daemon.healthPort, "/liveness")).code, 200);
  writeFileSync(join(daemon.directory, "new.cfg"), "");
  renameSync(join(daemon.directory, "new.cfg"), join(daemon.directory, "typha.cfg"));
  await daemon.logged("Listening for sync clients");
  const ended = once(daemon.child, "exit");
  daemon.child.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
});

test("bulrush-typha writes a heap snapshot at SIGUSR1, for its user's eyes only, and goes on", async (t) => {
  const daemon = await startDaemon(t, "", (directory) => ({
    TYPHA_DEBUGMEMORYPROFILEPATH: join(directory, "heap-<timestamp>.heapsnapshot"),
  }));
  await daemon.logged("Listening for sync clients");
  daemon.child.kill("SIGUSR1");
  const { file } = await daemon.logged("Wrote a heap profile");
  assert.match(String(file), /heap-\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.heapsnapshot$/);
  assert.equal(statSync(String(file)).mode & 0o777, 0o600);
  assert.ok("snapshot" in (JSON.parse(readFileSync(String(file), "utf8")) as object));
  const client = dial(daemon.syncPort, undefined, testHello("node-1"));
  await client.when((message) => message.type === "status");
  const ended = once(daemon.child, "exit");
  daemon.child.kill("SIGTERM");
  await client.next("goodbye");
  assert.deepEqual(await ended, [0, null]);
});
