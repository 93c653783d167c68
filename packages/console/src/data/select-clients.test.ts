import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClientView } from "@bulrush/typha";
import { behindOf, type ClientChoice, selectClients } from "./select-clients.ts";

function client(hostname: string, over: Partial<ClientView> = {}): ClientView {
  return {
    connectionId: hostname,
    hostname,
    syncer: "felix",
    info: "bulrush-agent 0.1.0",
    clientId: hostname,
    peer: "10.0.0.1:1",
    connectedAt: "2026-01-01T00:00:00.000Z",
    begunWith: "snapshot",
    inSnapshot: false,
    serverSequence: 10,
    sentSequence: 10,
    appliedSequence: 10,
    lagMs: 0,
    bytesSent: 0,
    duplicate: false,
    ...over,
  };
}

const ALL: ClientChoice = { search: "", stream: undefined, order: "node", isDescending: false };
const names = (clients: readonly ClientView[]): string[] => clients.map(({ hostname }) => hostname);

test("selectClients() orders both ways, and by node where the column says nothing", () => {
  const clients = [client("b", { lagMs: 5 }), client("c"), client("a")];
  assert.deepEqual(names(selectClients(clients, ALL)), ["a", "b", "c"]);
  assert.deepEqual(names(selectClients(clients, { ...ALL, order: "lag", isDescending: true })), ["b", "a", "c"]);
  assert.deepEqual(names(selectClients(clients, { ...ALL, order: "lag" })), ["a", "c", "b"]);
  assert.deepEqual(names(clients), ["b", "c", "a"], "what it is given is left as it is");
});

test("selectClients() finds nodes, addresses and versions, in any case, of one stream", () => {
  const clients = [client("Node-1"), client("two", { peer: "10.9.8.7:1" }), client("x", { syncer: "bgp", info: "v2" })];
  assert.deepEqual(names(selectClients(clients, { ...ALL, search: " node" })), ["Node-1"]);
  assert.deepEqual(names(selectClients(clients, { ...ALL, search: "9.8" })), ["two"]);
  assert.deepEqual(names(selectClients(clients, { ...ALL, search: "V2" })), ["x"]);
  assert.deepEqual(names(selectClients(clients, { ...ALL, stream: "bgp" })), ["x"]);
});

test("behindOf() counts from what is in force, or from what was sent to one that has not said yet", () => {
  assert.equal(behindOf(client("a", { appliedSequence: 7 })), 3);
  assert.equal(behindOf(client("a", { appliedSequence: null, sentSequence: 4 })), 6);
  assert.equal(behindOf(client("a", { appliedSequence: 12 })), 0);
});
