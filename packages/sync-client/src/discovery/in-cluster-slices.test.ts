import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { ManualClock } from "@bulrush/base";
import { Authority, type Pair } from "../testing/certificates.ts";
import { inClusterSlices } from "./in-cluster-slices.ts";
import type { SliceEvent, SliceFeed } from "./service-servers.ts";

let authority: Authority;
let pair: Pair;
before(() => {
  authority = new Authority("cluster");
  pair = authority.issue({ commonName: "kube-apiserver", ip: "127.0.0.1" });
  writeFileSync(join(authority.folder, "ca.crt"), authority.ca);
});
after(() => authority.remove());

interface Scene {
  readonly feed: SliceFeed;
  readonly clock: ManualClock;
  readonly seen: IncomingMessage[];
}

async function serve(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Scene> {
  const seen: IncomingMessage[] = [];
  const server = createServer({ cert: pair.cert, key: pair.key }, (request, response) => {
    seen.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  writeFileSync(join(authority.folder, "token"), "secret-1\n");
  const clock = new ManualClock();
  const feed = inClusterSlices({
    host: "127.0.0.1",
    port: String((server.address() as AddressInfo).port),
    directory: authority.folder,
    namespace: "kube-system",
    serviceName: "calico-typha",
    clock,
  });
  return { feed, clock, seen };
}

function sliceNamed(name: string, more: object = {}): object {
  return { metadata: { name }, endpoints: [{ addresses: ["10.0.0.1"] }], ports: [], ...more };
}

const signal = new AbortController().signal;

async function all(feed: SliceFeed): Promise<SliceEvent[]> {
  const events: SliceEvent[] = [];
  for await (const some of feed.watch("7", signal)) events.push(...some);
  return events;
}

test("inClusterSlices() lists the slices of the Service with the pod's token, which is read anew", async (t) => {
  const list = {
    metadata: { resourceVersion: "42" },
    items: [sliceNamed("a"), { metadata: {} }, sliceNamed("b", { ports: 7 })],
  };
  const { feed, seen } = await serve(t, (_, response) => void response.end(JSON.stringify(list)));
  const { slices, revision } = await feed.list(signal);
  assert.deepEqual([slices.map(({ metadata }) => metadata.name), revision], [["a"], "42"]);
  writeFileSync(join(authority.folder, "token"), "secret-2\n");
  await feed.list(signal);
  assert.deepEqual(
    seen.map(({ headers }) => headers.authorization),
    ["Bearer secret-1", "Bearer secret-2"],
  );
  assert.equal(
    seen[0]?.url,
    "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dcalico-typha",
  );
});

test("inClusterSlices() follows what changes, line by line, until the server ends it", async (t) => {
  const events = [
    { type: "ADDED", object: sliceNamed("a") },
    { type: "BOOKMARK", object: { metadata: { resourceVersion: "8" } } },
    { type: "MODIFIED", object: sliceNamed("b") },
    { type: "DELETED", object: sliceNamed("a") },
  ];
  const text = events.map((event) => `${JSON.stringify(event)}\n`).join("");
  const { feed, seen } = await serve(t, (_, response) => {
    response.write(text.slice(0, 70));
    response.end(text.slice(70));
  });
  const found = await all(feed);
  assert.deepEqual(
    found.map((event) => (event.type === "set" ? event.slice.metadata.name : `-${event.name}`)),
    ["a", "b", "-a"],
  );
  assert.match(seen[0]?.url ?? "", /&watch=1&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=300$/);
});

test("inClusterSlices() fails with what the server says", async (t) => {
  const expired = { type: "ERROR", object: { kind: "Status", code: 410, message: "too old resource version" } };
  const { feed } = await serve(t, ({ url }, response) => {
    if (url?.includes("watch") === true) response.end(`${JSON.stringify(expired)}\n`);
    else response.writeHead(403).end(JSON.stringify({ kind: "Status", message: "endpointslices is forbidden" }));
  });
  await assert.rejects(feed.list(signal), /answers 403: endpointslices is forbidden/);
  await assert.rejects(all(feed), /The watch ended: .*too old resource version/);
});

test("inClusterSlices() gives a watch up that is silent for longer than the server lets one live", async (t) => {
  const { feed, clock, seen } = await serve(t, (_, response) => void response.write("\n"));
  const watched = assert.rejects(all(feed), /silent for 330 s/);
  while (seen.length === 0 || clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(330_000);
  // The line that came may have begun the time anew.
  await clock.advance(330_000);
  await watched;
  assert.equal(clock.pending, 0);
});

test("inClusterSlices() fails where the pod has no account, and does not trust another CA", async (t) => {
  const { feed } = await serve(t, (_, response) => void response.end("{}"));
  const foreign = new Authority("foreign");
  t.after(() => foreign.remove());
  writeFileSync(join(authority.folder, "ca.crt"), foreign.ca);
  await assert.rejects(feed.list(signal), { code: /UNABLE_TO|SELF_SIGNED/ });
  writeFileSync(join(authority.folder, "ca.crt"), authority.ca);
  const options = { host: "127.0.0.1", port: "1", namespace: "n", serviceName: "s", clock: new ManualClock() };
  await assert.rejects(inClusterSlices({ ...options, directory: "/nonexistent" }).list(signal), { code: "ENOENT" });
});
