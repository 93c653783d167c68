import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { convertResources, loadManifests } from "@bulrush/datastore";
import type { KV } from "@bulrush/proto";
import { CertificateAuthority, type Identity } from "../lab/certificates.ts";
import { SERVER_NAME, SYNC_PORT } from "../lab/cluster.ts";
import { FABRIC_ADDRESS } from "../lab/network.ts";
import { type BadServer, badServers } from "./bad-servers.ts";
import { FakeServer } from "./fake-server.ts";
import { eventually, type World } from "./world.ts";

const FIRST_PORT = 6001;
const OTHER_PORT = 5474;
const HOSTS = ["host-a", "host-b", "host-c"] as const;

/** What the agents have: what the manifests say. */
async function presentKVs(world: World): Promise<KV[]> {
  const { resources } = await loadManifests(world.manifestDir);
  return convertResources(resources).updates.map(({ path, value }) => ({
    path,
    value,
    revision: "1",
    updateType: "new",
  }));
}

interface LostServer {
  readonly code: string;
  readonly message: string;
}

/** Before the welcome, and after it. */
const LOST: readonly unknown[] = ["Cannot follow sync server", "Lost sync server"];

/** What an agent said about a server that it could not follow, or not any more. */
function lossOf(world: World, host: string, port: number): LostServer | undefined {
  const line = world
    .log(`agent-${host}`)
    .find(({ msg, server }) => LOST.includes(msg) && server === `${FABRIC_ADDRESS}:${port}`);
  return line?.["error"] as LostServer | undefined;
}

/** Servers with the right certificate, or nearly, in Typha's place. */
export function serverTests(world: () => World): void {
  let servers: readonly BadServer[] = [];
  const portOf = (index: number): number => FIRST_PORT + index;
  const hostOf = (index: number): (typeof HOSTS)[number] => HOSTS[index % HOSTS.length] ?? "host-a";

  void test("bad servers in Typha's place: the kernel stays as it is, and the agents find another Typha", async () => {
    const w = world();
    const { cluster } = w.session;
    const right: Identity = {
      certPem: readFileSync(cluster.serverTls.cert, "utf8"),
      keyPem: readFileSync(cluster.serverTls.key, "utf8"),
    };
    const certificates = {
      wrongName: await cluster.authority.issue({ commonName: "somebody" }),
      otherAuthority: await (await CertificateAuthority.create("Somebody's CA")).issue({ commonName: SERVER_NAME }),
    };
    servers = badServers(await presentKVs(w));
    const before = w.generations();
    const caFile = cluster.serverTls.ca;
    const fakes: FakeServer[] = [];
    await cluster.typha.stop("SIGKILL");
    for (const [i, { certificate, behaviour }] of servers.entries()) {
      const identity = certificate === undefined ? right : certificates[certificate];
      fakes.push(await FakeServer.start({ port: portOf(i), identity, caFile, behaviour }));
    }
    // Sends each agent to its share of them, and then to the real one.
    const sent = new Set<string>();
    const reason = "Ask somebody else";
    fakes.push(
      await FakeServer.start({
        port: SYNC_PORT,
        identity: right,
        caFile,
        behaviour: {
          at: "hello",
          act(connection) {
            const { hostname } = connection.hello;
            const own = servers.flatMap((_, i) => (hostOf(i) === hostname ? [portOf(i)] : []));
            const ports = sent.has(hostname) ? [OTHER_PORT] : own;
            sent.add(hostname);
            const peers = ports.map((port) => `${FABRIC_ADDRESS}:${port}`);
            connection.send({ type: "reject", code: "shutting-down", reason, retryAfterMs: 0, peers }).end();
          },
        },
      }),
    );
    try {
      cluster.startTypha({ TYPHA_SERVERPORT: String(OTHER_PORT) });
      await eventually(
        "each agent has met its bad servers and follows another Typha",
        async () => {
          const clients = await w.clients().catch(() => []);
          return HOSTS.every((host) =>
            clients.some((one) => one.hostname === host && one.appliedSequence === one.serverSequence),
          );
        },
        60_000,
        () => HOSTS.map((host) => cluster.agent(host).logTail(8)).join("\n"),
      );
    } finally {
      for (const fake of fakes) await fake.close();
    }
    w.checkTraffic("bad servers");
    assert.equal(w.generations(), before);
    for (const host of HOSTS) assert.ok(cluster.agent(host).isRunning, `The agent on ${host} has ended`);
    await w.goodEdit("after bad servers");
    w.checkTraffic("after bad servers");
  });

  // Their names must be known when the tests are defined.
  for (const [i, { name, code, reason }] of badServers([]).entries()) {
    void test(`bad server: ${name}: ${code}`, () => {
      const loss = lossOf(world(), hostOf(i), portOf(i));
      assert.equal(loss?.code, code, loss?.message ?? "not met");
      assert.match(loss.message, reason ?? /./);
    });
  }

  void test("policies that mean nothing: the last good ones stay, and the agent says so", () => {
    const host = hostOf(servers.findIndex(({ name }) => name === "policies that mean nothing"));
    const invalid = world()
      .log(`agent-${host}`)
      .filter(({ msg }) => msg === "Invalid update");
    for (const path of ["edge/gate", "world/friends-only", "edits/toggle", "tier/default/metadata"]) {
      const line = invalid.find((candidate) => String(candidate["path"]).endsWith(path));
      assert.equal(line?.["outcome"], "kept-last-good", `${path}: ${JSON.stringify(invalid)}`);
    }
  });
}
