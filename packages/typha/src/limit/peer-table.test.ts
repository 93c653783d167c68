import assert from "node:assert/strict";
import { test } from "node:test";
import { PeerTable } from "./peer-table.ts";
import { parseServerLoad, type ServerLoad } from "./server-load.ts";

function load(instance: string, streams: number, more: Partial<ServerLoad> = {}): ServerLoad {
  return { instance, streams, limit: 400, takesClients: true, ...more };
}

const counted = (types: ReadonlyMap<string, number> | undefined): unknown => types && Object.fromEntries(types);

function tableOf(...ids: readonly string[]): PeerTable {
  const table = new PeerTable("own");
  table.setEndpoints(ids.map((id) => ({ id, addresses: [`${id}:1`] })));
  return table;
}

test("PeerTable finds itself among the servers, and leaves itself out from then on", () => {
  const table = tableOf("a", "b");
  assert.equal(table.total(0), undefined);
  table.answered("a", "a:1", load("own", 7), 0);
  table.answered("b", "b:1", load("other", 9), 0);
  assert.equal(table.total(0), 9);
  table.setEndpoints(["a", "b", "c"].map((id) => ({ id, addresses: [`${id}:1`] })));
  assert.deepEqual(
    table.toAsk().map(({ id }) => id),
    ["b", "c"],
  );
});

test("PeerTable adds those that were sent there, until its next answer", () => {
  const table = tableOf("b");
  table.answered("b", "b:1", load("other", 9), 0);
  table.sent("b:1");
  table.sent("b:1");
  assert.equal(table.known(4000)[0]?.streams, 11);
  table.answered("b", "b:1", load("other", 10), 5000);
  assert.equal(table.known(5000)[0]?.streams, 10);
});

test("PeerTable adds those that were sent there to their types, and knows no types of a server that tells none", () => {
  const table = tableOf("b", "c");
  table.answered("b", "b:1", load("other", 9, { types: { felix: 6, bgp: 3 } }), 0);
  table.answered("c", "c:1", load("old", 9), 0);
  for (const type of ["bgp", "node-status", undefined]) for (const to of ["b:1", "c:1"]) table.sent(to, type);
  const [b, c] = table.known(1);
  assert.deepEqual([b?.streams, counted(b?.types)], [12, { felix: 6, bgp: 4, "node-status": 1 }]);
  assert.deepEqual([c?.streams, c?.types], [12, undefined]);
  table.answered("b", "b:1", load("other", 10, { types: { felix: 10 } }), 2);
  assert.deepEqual(counted(table.known(2)[0]?.types), { felix: 10 });
});

test("PeerTable knows nothing of a server that is silent, that takes nobody, or whose answer is old", () => {
  const table = tableOf("b");
  table.answered("b", "b:1", load("other", 9), 0);
  assert.equal(table.known(25_000).length, 1);
  assert.equal(table.known(25_001).length, 0);
  table.answered("b", "b:1", load("other", 9, { takesClients: false }), 30_000);
  assert.equal(table.known(30_000).length, 0);
  assert.equal(table.total(30_000), 9);
  table.silent("b");
  assert.equal(table.total(30_000), undefined);
});

test("PeerTable keeps the address that answered, and asks it first", () => {
  const table = new PeerTable("own");
  const endpoint = { id: "b", addresses: ["b:1", "[b]:1"] };
  table.setEndpoints([endpoint]);
  table.answered("b", "[b]:1", load("other", 9), 0);
  table.setEndpoints([endpoint]);
  assert.deepEqual(table.toAsk(), [{ id: "b", addresses: ["[b]:1", "b:1"] }]);
  assert.equal(table.known(0)[0]?.address, "[b]:1");
  assert.equal(table.idOf("[b]:1"), "b");
});

test("parseServerLoad() takes what a server says, and nothing else", () => {
  const good = load("x", 3);
  assert.deepEqual(parseServerLoad(JSON.stringify({ ...good, more: 1 })), good);
  const withTypes = load("x", 3, { types: { felix: 2, bgp: 1 } });
  assert.deepEqual(parseServerLoad(JSON.stringify(withTypes)), withTypes);
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`type-${i}`, 1]));
  for (const types of [null, 3, ["felix"], { felix: -1 }, { felix: "1" }, many])
    assert.equal(parseServerLoad(JSON.stringify({ ...good, types })), undefined);
  const bad = ["", "null", "[]", "7", ...Object.keys(good).map((key) => JSON.stringify({ ...good, [key]: null }))];
  bad.push(JSON.stringify({ ...good, streams: -1 }), JSON.stringify({ ...good, limit: 1.5 }));
  for (const text of bad) assert.equal(parseServerLoad(text), undefined, text);
});
