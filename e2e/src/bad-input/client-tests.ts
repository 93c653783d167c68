import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAddress } from "@bulrush/ip";
import { CertificateAuthority } from "../lab/certificates.ts";
import { BAD_CLIENTS, type BadClient, type Identities } from "./bad-clients.ts";
import type { RawClient } from "./raw-client.ts";
import { eventually, type World } from "./world.ts";

/** Two seconds for a handshake in this lab, three for closing, and something for a busy machine. */
const MAX_MS = 10_000;

async function identitiesOf(world: World): Promise<Identities> {
  const { authority } = world.session.cluster;
  const other = await CertificateAuthority.create("Somebody's CA");
  const commonName = "typha-client";
  return {
    good: await authority.issue({ commonName }),
    wrongName: await authority.issue({ commonName: "somebody" }),
    otherAuthority: await other.issue({ commonName }),
    expired: await authority.issue({ commonName, notAfter: new Date(Date.now() - 60_000) }),
  };
}

/** What the peer was told last. */
function answerTo(client: RawClient): string {
  const last = client.messages.findLast(({ type }) => type === "reject" || type === "goodbye");
  return last !== undefined && "code" in last ? `${last.type} ${last.code}: ${last.reason}` : client.statusLine;
}

async function check(world: World, identities: Identities, bad: BadClient): Promise<void> {
  const startMs = performance.now();
  const client = await bad.come(identities);
  const { name } = client;
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<"late">((resolve) => (timer = setTimeout(() => resolve("late"), MAX_MS)));
  const end = await Promise.race([client.closed, tooLate]);
  clearTimeout(timer);
  assert.notEqual(end, "late", `${bad.name}: not ended after ${Math.round(performance.now() - startMs)} ms`);
  await eventually(`${bad.name}: logged with the peer ${name} and the code ${bad.code}`, () =>
    world.log("typha").some((line) => {
      const isOurs = line["peer"] === name && line["code"] === bad.code && line["level"] === "warn";
      return isOurs && (bad.reason?.test(String(line["reason"])) ?? true);
    }),
  );
  if (bad.answer !== undefined) assert.match(answerTo(client), bad.answer, bad.name);
}

/** Bad peers on the sync port, all at once, while streams go on and new agents come. */
export function clientTests(world: () => World): void {
  let streams: readonly string[] = [];
  let done: Promise<readonly PromiseSettledResult<void>[]>;

  void test("bad clients: an established stream goes on, and a new agent comes, while all of them are there", async () => {
    const w = world();
    streams = (await w.clients()).map(({ connectionId }) => connectionId);
    const identities = await identitiesOf(w);
    done = Promise.allSettled(BAD_CLIENTS.map((bad) => check(w, identities, bad)));
    const address = parseAddress("192.0.2.3");
    assert.ok(address !== undefined);
    w.session.cluster.network.addHost({ name: "host-c", addresses: [address] });
    w.session.cluster.startAgent("host-c");
    for (let i = 0; i < 3; i++) await w.goodEdit("while bad clients are there");
    await eventually("a new agent is in sync", async () => {
      const [client] = await w.clients("host-c");
      return client !== undefined && client.appliedSequence === client.serverSequence;
    });
    w.checkTraffic("bad clients");
  });

  for (const [i, { name, code }] of BAD_CLIENTS.entries()) {
    void test(`bad client: ${name}: ${code}`, async () => {
      const result = (await done)[i];
      if (result?.status !== "fulfilled") throw result?.reason;
    });
  }

  void test("after bad clients: the same streams, nobody half accepted, and each refusal counted", async () => {
    const w = world();
    const after = (await w.clients()).filter(({ hostname }) => hostname !== "host-c");
    assert.deepEqual(
      after.map(({ connectionId }) => connectionId),
      streams,
    );
    await eventually("no connection is left over", async () => (await w.metric("typha_connections_active")) === 4);
    const counted = new Map<string, number>();
    for (const { code, answer } of BAD_CLIENTS) {
      const name = answer?.source.startsWith("^goodbye") === true ? "goodbyes" : "connections_rejected";
      counted.set(
        `bulrush_typha_${name}{code="${code}"}`,
        (counted.get(`bulrush_typha_${name}{code="${code}"}`) ?? 0) + 1,
      );
    }
    for (const [name, count] of counted) assert.equal(await w.metric(name), count, name);
    assert.equal((await w.status()).ready, true);
  });
}
