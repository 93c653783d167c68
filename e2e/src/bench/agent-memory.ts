import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { LOCAL_PODS } from "../agent-memory/customer-store.ts";
import { enterNamespace } from "./in-namespace.ts";
import type { Bench } from "./row.ts";

const ROOT = join(import.meta.dirname, "../../..");
const MAIN: string = join(import.meta.dirname, "..", "agent-memory", "main.ts");

/** Remote endpoints, and the most megabytes that the process may have then. */
const CASES = [
  { remote: 1000, limit: 160 },
  { remote: 250_000, limit: 800 },
] as const;

const MEGABYTE = 1e6;

export const agentMemoryBench: Bench = {
  name: "agent-memory",
  summary: "resident memory of one agent with 200 local endpoints: in a small cluster, and with 250,000 remote ones",
  async run({ quick, progress }, print) {
    progress("Building what ships");
    await promisify(execFile)(join(ROOT, "node_modules/.bin/tsc"), ["-b", join(ROOT, "packages/agent")]);
    for (const { limit, remote } of quick ? CASES.slice(0, 1) : CASES) {
      progress(`${LOCAL_PODS} local and ${remote} remote endpoints`);
      const command = [...enterNamespace(), process.execPath, "--conditions=bulrush-source", MAIN, String(remote)];
      const { stdout } = await promisify(execFile)("env", command);
      const { highest, resident } = JSON.parse(stdout) as { readonly highest: number; readonly resident: number };
      const row = { bench: "agent-memory", case: { local: LOCAL_PODS, remote }, unit: "MB" } as const;
      print({ ...row, metric: "resident memory", value: Math.round(resident / MEGABYTE), limit });
      print({ ...row, metric: "highest resident memory", value: Math.round(highest / MEGABYTE) });
    }
  },
};
