import assert from "node:assert/strict";
import { test } from "node:test";
import { status } from "@grpc/grpc-js";
import { ManualClock } from "@bulrush/base";
import { datastoreCodeOf } from "../../errors.ts";
import { rangePages } from "../range-pages.ts";
import { header, ScriptedEtcd } from "../testing/scripted-etcd.ts";
import { EtcdClient } from "./etcd-client.ts";
import type { KeyValue } from "./messages.ts";
import { RANGE, TXN } from "./methods.ts";

const NEVER = new AbortController().signal;
const KEY = { key: Buffer.from("k") };
const NO_WRITE = { compare: [], success: [], failure: [] };

function clientOf(
  endpoints: readonly string[],
  clock = new ManualClock(),
  login: { readonly username?: string; readonly password?: string } = {},
): EtcdClient {
  return new EtcdClient({ config: { type: "etcdv3", endpoints, ...login }, clock, start: 0 });
}

/** An endpoint at which nobody listens. */
async function deadEndpoint(): Promise<string> {
  const etcd = await ScriptedEtcd.start();
  etcd.stop();
  return etcd.endpoint;
}

function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "done",
    (error: unknown) => datastoreCodeOf(error),
  );
}

test("call() tries a read at the next member when one is gone, and stays there", async () => {
  using etcd = await ScriptedEtcd.start();
  const client = clientOf([await deadEndpoint(), etcd.endpoint]);
  assert.equal((await client.call(RANGE, KEY, NEVER)).header?.revision, 1);
  assert.equal(await codeOf(client.call(TXN, NO_WRITE, NEVER)), "done");
  client.close();
});

test("call() goes past the proxy of the environment", async (t) => {
  using etcd = await ScriptedEtcd.start();
  const before = process.env["http_proxy"];
  t.after(() => {
    if (before === undefined) delete process.env["http_proxy"];
    else process.env["http_proxy"] = before;
  });
  process.env["http_proxy"] = await deadEndpoint();
  const client = clientOf([etcd.endpoint]);
  assert.equal(await codeOf(client.call(RANGE, KEY, NEVER)), "done");
  client.close();
});

test("call() does not try a write twice: whether it was done is not known", async () => {
  using etcd = await ScriptedEtcd.start();
  const client = clientOf([await deadEndpoint(), etcd.endpoint]);
  assert.equal(await codeOf(client.call(TXN, NO_WRITE, NEVER)), "DATASTORE_CONNECTION_REFUSED");
  assert.equal(await codeOf(client.call(TXN, NO_WRITE, NEVER)), "done");
  client.close();
});

test("call() says so when no member is there", async () => {
  const client = clientOf([await deadEndpoint(), await deadEndpoint()]);
  assert.equal(await codeOf(client.call(RANGE, KEY, NEVER)), "DATASTORE_CONNECTION_REFUSED");
  client.close();
});

test("call() gives up a member that is silent for 10 s", async () => {
  const clock = new ManualClock();
  let isAsked: (() => void) | undefined;
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve;
  });
  using silent = await ScriptedEtcd.start({
    onRange: () => {
      isAsked?.();
      return "silent";
    },
  });
  const client = clientOf([silent.endpoint], clock);
  const call = codeOf(client.call(RANGE, KEY, NEVER));
  await asked;
  await clock.advance(10_000);
  assert.equal(await call, "DATASTORE_TIMEOUT");
  client.close();
});

test("call() rejects with the signal's reason when it aborts", async () => {
  using silent = await ScriptedEtcd.start({ onRange: () => "silent" });
  const client = clientOf([silent.endpoint]);
  const abort = new AbortController();
  const call = client.call(RANGE, KEY, abort.signal);
  const reason = new Error("Enough");
  setImmediate(() => abort.abort(reason));
  await assert.rejects(call, reason);
  client.close();
});

test("call() logs in once, and again when its token is no longer good", async () => {
  let logins = 0;
  let goodToken = "t1";
  using etcd = await ScriptedEtcd.start({
    onAuthenticate: ({ name, password }) =>
      name === "u" && password === "p"
        ? { token: `t${++logins}` }
        : { code: status.INVALID_ARGUMENT, details: "etcdserver: authentication failed, invalid user ID or password" },
    onRange: (_request, token) =>
      token === goodToken ? {} : { code: status.UNAUTHENTICATED, details: "etcdserver: invalid auth token" },
  });
  const client = clientOf([etcd.endpoint], undefined, { username: "u", password: "p" });
  await Promise.all([client.call(RANGE, KEY, NEVER), client.call(RANGE, KEY, NEVER)]);
  assert.equal(logins, 1);
  goodToken = "t2";
  await client.call(RANGE, KEY, NEVER);
  assert.equal(logins, 2);
  goodToken = "never";
  assert.equal(await codeOf(client.call(RANGE, KEY, NEVER)), "DATASTORE_UNAUTHORIZED");
  assert.equal(logins, 3);
  client.close();
});

test("call() tells a wrong password, and tries it again with the next call", async () => {
  let logins = 0;
  using etcd = await ScriptedEtcd.start({
    onAuthenticate: () => {
      logins++;
      return {
        code: status.INVALID_ARGUMENT,
        details: "etcdserver: authentication failed, invalid user ID or password",
      };
    },
  });
  const client = clientOf([etcd.endpoint], undefined, { username: "u", password: "wrong" });
  assert.equal(await codeOf(client.call(RANGE, KEY, NEVER)), "DATASTORE_UNAUTHORIZED");
  assert.equal(await codeOf(client.call(RANGE, KEY, NEVER)), "DATASTORE_UNAUTHORIZED");
  assert.equal(logins, 2);
  client.close();
});

test("call() goes without a token where nobody has to log in, and where only a user or only a password is given", async () => {
  const tokens: (string | undefined)[] = [];
  using etcd = await ScriptedEtcd.start({
    onAuthenticate: () => ({ code: status.FAILED_PRECONDITION, details: "etcdserver: authentication is not enabled" }),
    onRange: (_request, token) => {
      tokens.push(token);
      return {};
    },
  });
  for (const login of [{ username: "u", password: "p" }, { username: "u" }, { password: "p" }]) {
    const client = clientOf([etcd.endpoint], undefined, login);
    await client.call(RANGE, KEY, NEVER);
    client.close();
  }
  assert.deepEqual(tokens, [undefined, undefined, undefined]);
});

test("call() goes to another member when its own is given up before the request is sent, a write too", async () => {
  using etcd = await ScriptedEtcd.start();
  const clock = new ManualClock();
  const client = clientOf([etcd.endpoint], clock);
  const { member, call } = await client.openWatch(NEVER);
  call.on("error", () => {});
  call.cancel();
  const calls = [client.call(RANGE, KEY, NEVER), client.call(TXN, NO_WRITE, NEVER), client.openWatch(NEVER)];
  // Before they have come to send anything.
  client.giveUp(member);
  const [, , watch] = (await Promise.all(calls)) as [unknown, unknown, Awaited<ReturnType<typeof client.openWatch>>];
  watch.call.on("error", () => {});
  watch.call.cancel();
  assert.notEqual(watch.member, member);
  // Nothing is left that would time out.
  assert.equal(clock.pending, 0);
  client.close();
});

test("close() ends the calls to come", async () => {
  using etcd = await ScriptedEtcd.start();
  const client = clientOf([etcd.endpoint]);
  await client.call(RANGE, KEY, NEVER);
  client.close();
  assert.equal(await codeOf(client.call(RANGE, KEY, NEVER)), "DATASTORE_FAILED");
});

function pair(name: string, bytes = 1): KeyValue {
  return { key: Buffer.from(name), value: Buffer.alloc(bytes), create_revision: 1, mod_revision: 1 };
}

test("rangePages() reads all pages at the revision of the first one", async () => {
  const asked: string[] = [];
  using etcd = await ScriptedEtcd.start({
    onRange: ({ key, revision, limit }) => {
      asked.push(`${key.toString("latin1")} limit ${limit} at ${revision}`);
      const isFirst = asked.length === 1;
      return { header: header(isFirst ? 40 : 99), kvs: isFirst ? [pair("a"), pair("b")] : [pair("c")], more: isFirst };
    },
  });
  const client = clientOf([etcd.endpoint]);
  const pages: string[] = [];
  for await (const { entries, header: at } of rangePages(
    client,
    { key: "a", end: "z" },
    { signal: NEVER, pageItems: 2 },
  ))
    pages.push(`${entries.map(({ key }) => key.toString()).join("")}@${at.revision}`);
  assert.deepEqual(asked, ["a limit 2 at 0", "b\0 limit 2 at 40"]);
  assert.deepEqual(pages, ["ab@40", "c@40"]);
  client.close();
});

test("rangePages() says that the state it reads was compacted away", async () => {
  using etcd = await ScriptedEtcd.start({
    onRange: ({ revision }) =>
      revision === 0
        ? { header: header(40), kvs: [pair("a")], more: true }
        : { code: status.OUT_OF_RANGE, details: "etcdserver: mvcc: required revision has been compacted" },
  });
  const client = clientOf([etcd.endpoint]);
  const read = async (): Promise<void> => {
    for await (const page of rangePages(client, { key: "a", end: "z" }, { signal: NEVER })) assert.ok(page);
  };
  assert.equal(await codeOf(read()), "DATASTORE_EXPIRED");
  client.close();
});

test("rangePages() does not put the states of two clusters together", async () => {
  using etcd = await ScriptedEtcd.start({
    onRange: ({ revision }) => ({ header: header(40, revision === 0 ? 1n : 2n), kvs: [pair("a")], more: true }),
  });
  const client = clientOf([etcd.endpoint]);
  const read = async (): Promise<void> => {
    for await (const page of rangePages(client, { key: "a", end: "z" }, { signal: NEVER })) assert.ok(page);
  };
  assert.equal(await codeOf(read()), "DATASTORE_EXPIRED");
  client.close();
});

test("rangePages() asks for less at once where a page is too big for a message", async () => {
  const all = ["a", "b"];
  const limits: (number | undefined)[] = [];
  using etcd = await ScriptedEtcd.start({
    onRange: ({ key, limit = 0 }) => {
      limits.push(limit);
      const rest = all.filter((name) => name >= key.toString("latin1"));
      const kvs = rest.slice(0, limit).map((name) => pair(name, 33 << 20));
      return { header: header(1), kvs, more: rest.length > limit };
    },
  });
  const client = clientOf([etcd.endpoint]);
  const names: string[] = [];
  for await (const { entries } of rangePages(client, { key: "a", end: "z" }, { signal: NEVER, pageItems: 2 }))
    names.push(...entries.map(({ key }) => key.toString()));
  assert.deepEqual(names, all);
  assert.deepEqual(limits, [2, 1, 1]);
  client.close();
});
