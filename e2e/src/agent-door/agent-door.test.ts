import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { must } from "@bulrush/base";
import { parseAddress } from "@bulrush/ip";
import type { Resource } from "@bulrush/model";
import { openNftConnection, Transaction } from "@bulrush/nftables";
import { labTests } from "../lab/lab-test.ts";
import { LabSession } from "../lab/session.ts";
import { writeManifest } from "../lab/write-manifest.ts";
import { guardedWorld, WORK_DIR } from "../scenario/guarded-world.ts";

const CTL = join(import.meta.dirname, "..", "..", "..", "packages", "ctl", "bin", "bulrushctl.ts");
const SOCKET = join(WORK_DIR, "state-host-a", "agent.sock");
const SERVER = "10.65.1.10";
const STRANGER = "10.65.1.12";
const FRIEND = "10.65.1.11";
const STAGED_PORT = 7099;
/** Would take one port away from friends. */
const STAGED: Resource = {
  apiVersion: "projectcalico.org/v3",
  kind: "StagedNetworkPolicy",
  metadata: { name: "one-port-less", namespace: "world" },
  spec: {
    order: 10,
    selector: "role == 'server'",
    types: ["Ingress"],
    ingress: [{ action: "Deny", protocol: "UDP", destination: { ports: [STAGED_PORT] } }],
  },
};
/** For what takes a moment on a machine that is busy with other things. */
const PATIENCE_MS = 180_000;

interface FlowLine {
  readonly verdict: string;
  readonly direction: string;
  readonly tier: string;
  readonly rule: string;
  readonly endpoint: string;
  readonly source: string;
  readonly destination: string;
  readonly destinationPort?: number;
}

interface HostReport {
  readonly phase: string;
  readonly endpoints: readonly {
    readonly name: string;
    readonly status?: string;
    readonly addresses: readonly string[];
    readonly tiers: readonly { readonly name: string; readonly ingress: readonly string[] }[];
  }[];
}

interface StagedReport {
  readonly changes: readonly {
    readonly from: string;
    readonly port?: number;
    readonly fromPod?: string;
    readonly toPod?: string;
    readonly now: string;
    readonly staged: string;
    readonly by: string;
  }[];
}

interface Report {
  readonly ready: boolean;
  readonly pending: boolean;
  readonly differences: readonly unknown[];
  readonly repairs: readonly { readonly by: string; readonly items: readonly { readonly name: string }[] }[];
}

const ctlArguments = (words: readonly string[]): string[] => [
  "--conditions=bulrush-source",
  CTL,
  ...words,
  "--socket",
  SOCKET,
];
const ctl = (...words: readonly string[]): string =>
  execFileSync(process.execPath, ctlArguments(words), { encoding: "utf8" });

const until = async <T>(read: () => T, holds: (found: T) => boolean): Promise<T> => {
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = read();
    if (holds(found)) return found;
    assert.ok(performance.now() < deadlineMs, `not as waited for: ${JSON.stringify(found)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
};

labTests(import.meta.filename, () => {
  let session: LabSession;
  let follower: ChildProcess | undefined;

  before(async () => {
    const manifestDir = join(WORK_DIR, "manifests");
    writeManifest(join(manifestDir, "world.json"), [...guardedWorld(), STAGED]);
    session = await LabSession.start({
      workDir: WORK_DIR,
      manifestDir,
      agentEnv: { FELIX_FLOWLOGSLOCALREPORTER: "Enabled" },
    });
    await session.refresh();
  });
  after(async () => {
    follower?.kill("SIGKILL");
    await session.stop();
  });

  test("bulrushctl flows --follow tells which tier ended a connection that was denied", async () => {
    const { network, prober } = session.cluster;
    const from = must(network.pod("world/stranger-near"), "the stranger").namespace;
    const knock = (): Promise<readonly boolean[]> =>
      prober.run([{ from, to: must(parseAddress(SERVER), SERVER), protocol: "TCP", port: 7002, expect: false }]);
    follower = spawn(process.execPath, ctlArguments(["flows", "--follow", "-o", "json"]), {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines: FlowLine[] = [];
    createInterface(must(follower.stdout, "its output")).on("line", (line) => lines.push(JSON.parse(line) as FlowLine));
    const denied = (): FlowLine | undefined =>
      lines.find(({ destinationPort, source }) => source === STRANGER && destinationPort === 7002);
    const deadlineMs = performance.now() + PATIENCE_MS;
    while (denied() === undefined) {
      assert.ok(performance.now() < deadlineMs, "the flow is not told");
      assert.deepEqual(await knock(), [false]);
    }
    const { destination, direction, endpoint, rule, tier, verdict } = denied() ?? assert.fail();
    assert.deepEqual(
      { destination, direction, endpoint, rule, tier, verdict },
      {
        destination: SERVER,
        direction: "ingress",
        endpoint: "world/server",
        rule: "end of tier",
        tier: "default",
        verdict: "deny",
      },
    );
    assert.match(
      ctl("flows"),
      new RegExp(`denied ingress world/server ${STRANGER}:\\d+ -> ${SERVER}:7002 tcp by tier default end of tier`),
    );
  });

  test("bulrushctl endpoints says what the host guards, by which policies, and that it is in the kernel", async () => {
    const report = (): HostReport => JSON.parse(ctl("endpoints", "-o", "json")) as HostReport;
    const serverOf = ({ endpoints }: HostReport): HostReport["endpoints"][number] | undefined =>
      endpoints.find(({ name }) => name === "world/server");
    const found = await until(report, (seen) => seen.phase === "in-sync" && serverOf(seen)?.status === "up");
    const server = must(serverOf(found), "the server");
    assert.ok(server.addresses.includes(`${SERVER}/32`), JSON.stringify(server));
    // What the flow log names when it denies: the end of this tier.
    assert.ok((server.tiers.find(({ name }) => name === "default")?.ingress.length ?? 0) > 0, JSON.stringify(server));
    assert.match(
      ctl("endpoints", "world/server"),
      /^world\/server {2}.*10\.65\.1\.10\/32.* up\n {2}ingress: .*tier default/m,
    );
  });

  test("bulrushctl staged names the connection that a staged policy would end", async () => {
    const { network, prober } = session.cluster;
    const from = must(network.pod("world/friend-near"), "the friend").namespace;
    const to = must(parseAddress(SERVER), SERVER);
    const changeOf = ({ changes }: StagedReport): StagedReport["changes"][number] | undefined =>
      changes.find((change) => change.from === FRIEND && change.port === STAGED_PORT);
    const deadlineMs = performance.now() + PATIENCE_MS;
    let found: StagedReport["changes"][number] | undefined;
    while (found === undefined) {
      assert.ok(performance.now() < deadlineMs, "the connection is not named");
      // Nobody listens there: what counts is that the host lets it through, and tracks it (a refused TCP it forgets).
      await prober.run([{ from, to, protocol: "UDP", port: STAGED_PORT, expect: false }]);
      found = changeOf(JSON.parse(ctl("staged", "-o", "json")) as StagedReport);
    }
    assert.deepEqual(
      [found.fromPod, found.toPod, found.now, found.staged, found.by],
      ["world/friend-near", "world/server", "allow", "deny", "StagedNetworkPolicy/world/one-port-less, rule 0"],
    );
  });

  test("bulrushctl drift says what was repaired, and who had changed it", async () => {
    const report = (): Report => JSON.parse(ctl("drift", "-o", "json")) as Report;
    const isSettled = ({ differences, pending, ready }: Report): boolean =>
      ready && !pending && differences.length === 0;
    const ofTheTable = ({ repairs }: Report): Report["repairs"][number] | undefined =>
      repairs.find(({ items }) => items.some(({ name }) => name === "ip calico"));
    await until(report, isSettled);
    const nft = openNftConnection({ namespace: must(session.cluster.network.host("host-a"), "host-a").namespace.path });
    nft.run(new Transaction().deleteTable({ family: "ip", name: "calico" }));
    nft.close();
    const found = await until(report, (seen) => isSettled(seen) && ofTheTable(seen) !== undefined);
    // As the kernel sees it: this process has another id in the lab.
    assert.match(ofTheTable(found)?.by ?? "", /^\S.* \(\d+\)$/);
    await until(
      () => ctl("drift"),
      (text) => text.startsWith("The kernel has what is meant.\nRepaired lately:\n"),
    );
  });
});
