import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";

const BIN = join(import.meta.dirname, "../bin/bulrush-agent.ts");
const directory = mkdtempSync(join(tmpdir(), "bulrush-agent-"));
after(() => rmSync(directory, { recursive: true }));

type Line = Readonly<Record<string, unknown>>;

class Daemon {
  readonly #child: ChildProcess;
  readonly #lines: Line[] = [];
  #onLine: () => void = () => {};
  readonly exit: Promise<number | null>;

  constructor(env: Record<string, string>, argv: readonly string[] = []) {
    this.#child = spawn(process.execPath, ["--conditions=bulrush-source", BIN, ...argv], {
      env: {
        PATH: process.env["PATH"],
        FELIX_LOGFILEPATH: "none",
        FELIX_STATEDIR: "none",
        FELIX_ADMINSOCKETPATH: "none",
        ...env,
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.exit = new Promise((resolve) => this.#child.on("close", resolve));
    if (this.#child.stdout !== null)
      createInterface(this.#child.stdout).on("line", (text) => {
        this.#lines.push(JSON.parse(text) as Line);
        this.#onLine();
      });
  }

  /** The first line with this message; waits for it. */
  async line(message: string): Promise<Line> {
    for (;;) {
      const found = this.#lines.find(({ msg }) => msg === message);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#onLine = resolve;
      });
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}

async function get(port: unknown, path: string): Promise<[number, string]> {
  const response = await fetch(`http://127.0.0.1:${String(port)}${path}`);
  return [response.status, await response.text()];
}

test("the daemon says in words why it is not ready, does not end without a Typha, and ends with 0 on SIGTERM", {
  timeout: 300_000,
}, async () => {
  const daemon = new Daemon({
    FELIX_HEALTHENABLED: "true",
    FELIX_HEALTHHOST: "127.0.0.1",
    FELIX_HEALTHPORT: "0",
    FELIX_TYPHAADDR: "127.0.0.1:1",
    FELIX_FELIXHOSTNAME: "h",
    FELIX_HEALTH_PROT: "1",
  });
  const { port } = await daemon.line("Listening");
  await daemon.line("Cannot follow sync server");
  const [live] = await get(port, "/liveness");
  const [ready, table] = await get(port, "/readiness");
  assert.deepEqual([live, ready], [200, 503]);
  assert.match(table, /CalculationGraph .* NOT READY +waiting for the datastore to be in sync/);
  const warning = await daemon.line("Setting");
  assert.match(String(warning["message"]), /FELIX_HEALTH_PROT: unknown setting, ignored; did you mean HealthPort\?/);
  daemon.kill("SIGTERM");
  assert.equal(await daemon.exit, 0);
});

test("the daemon with bad settings says so in its readiness and starts once they are mended", {
  timeout: 300_000,
}, async () => {
  const configFile = join(directory, "felix.cfg");
  const settings = "HealthEnabled = true\nHealthHost = 127.0.0.1\nHealthPort = 0\nTyphaAddr = 127.0.0.1:1\n";
  writeFileSync(configFile, `${settings}TyphaCN = typha\n`);
  const daemon = new Daemon({}, ["--config-file", configFile]);
  const { port } = await daemon.line("Listening");
  await daemon.line("Bad settings, reading them again every second");
  const [status, table] = await get(port, "/readiness");
  assert.equal(status, 503);
  assert.match(table, /FelixStartup .* NOT READY +bad settings: TLS to Typha needs all of its settings/);
  daemon.kill("SIGUSR1");
  await daemon.line("SIGUSR1: there is no heap profile to write");
  writeFileSync(configFile, settings);
  await daemon.line("Starting");
  daemon.kill("SIGINT");
  assert.equal(await daemon.exit, 0);
});

test("a wrong command line is exit 2", { timeout: 300_000 }, async () => {
  assert.equal(await new Daemon({}, ["--nonsense"]).exit, 2);
});
