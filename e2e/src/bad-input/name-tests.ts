import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAddress } from "@bulrush/ip";
import { FABRIC_ADDRESS } from "../lab/network.ts";
import { CutProxy } from "./cut-proxy.ts";
import { type AdminClient, eventually, type World } from "./world.ts";

const PROXY_PORT = 5480;
const DUPLICATES = "bulrush_typha_duplicate_clients";

function host(world: World, name: string, address: string): void {
  const parsed = parseAddress(address);
  assert.ok(parsed !== undefined);
  world.session.cluster.network.addHost({ name, addresses: [parsed] });
}

function isInSync(client: AdminClient | undefined): boolean {
  return client !== undefined && client.appliedSequence === client.serverSequence;
}

/** Lines of Typha's log that say that one node name is used twice. */
function reports(world: World): readonly Readonly<Record<string, unknown>>[] {
  return world.log("typha").filter(({ msg }) => msg === "Two clients use one node name");
}

/** Two agents with one name, and one agent that comes back. */
export function nameTests(world: () => World): void {
  void test("a second agent with the same name: both are served and both are named", async () => {
    const w = world();
    host(w, "host-d", "192.0.2.4");
    const [first] = await w.clients("host-b");
    assert.ok(first !== undefined);
    const second = w.session.cluster.startAgent("host-d", { FELIX_FELIXHOSTNAME: "host-b" });
    await eventually("both are served", async () => {
      const both = await w.clients("host-b");
      return both.length === 2 && both.every(isInSync);
    });
    const both = await w.clients("host-b");
    assert.deepEqual(
      both.map(({ duplicate }) => duplicate),
      [true, true],
    );
    assert.equal(both[0]?.connectionId, first.connectionId);
    const peers = both.map(({ peer }) => peer);
    assert.match(peers.join(), /^192\.0\.2\.2:\d+,192\.0\.2\.4:\d+$/);
    assert.equal(reports(w).length, 1);
    const { level, hostname, peer, otherPeers } = reports(w)[0] ?? {};
    assert.deepEqual([level, hostname, peer, otherPeers], ["warn", "host-b", peers[1], [peers[0]]]);
    assert.equal(await w.metric(DUPLICATES), 1);
    assert.deepEqual((await w.clients("host-a"))[0]?.duplicate, false);
    await w.goodEdit("with two agents of one name");
    w.checkTraffic("two agents of one name");

    await second.stop();
    await eventually("one is left, and is no duplicate", async () => {
      const left = await w.clients("host-b");
      return left.length === 1 && left[0]?.duplicate === false && (await w.metric(DUPLICATES)) === 0;
    });
  });

  void test("an agent that comes back beside its own half-open stream is no second agent", async () => {
    const w = world();
    const proxy = await CutProxy.start(PROXY_PORT);
    try {
      host(w, "host-e", "192.0.2.5");
      const agent = w.session.cluster.startAgent("host-e", { FELIX_TYPHAADDR: `${FABRIC_ADDRESS}:${PROXY_PORT}` });
      await eventually("the agent is in sync", async () => isInSync((await w.clients("host-e"))[0]));
      const before = reports(w).length;
      for (let round = 1; round <= 2; round++) {
        const [old] = await w.clients("host-e");
        proxy.cut();
        await eventually("the agent is back on another connection", async () => {
          const [now, ...more] = await w.clients("host-e");
          return more.length === 0 && isInSync(now) && now?.connectionId !== old?.connectionId;
        });
        const [now] = await w.clients("host-e");
        assert.deepEqual([now?.clientId, now?.duplicate], [old?.clientId, false]);
        await eventually("the half-open stream is ended, and the log says why", () =>
          w
            .log("typha")
            .some(
              ({ msg, connection, reason }) =>
                msg === "Goodbye to client" &&
                connection === old?.connectionId &&
                /same client has connected again/.test(String(reason)),
            ),
        );
      }
      assert.equal(reports(w).length, before);
      assert.equal(await w.metric(DUPLICATES), 0);
      await eventually("no half-open stream is left", () => proxy.open === 1);
      await agent.stop();
    } finally {
      proxy.close();
    }
  });
}
