import assert from "node:assert/strict";
import { readlinkSync } from "node:fs";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { withNetworkNamespace } from "./namespace.ts";
import { openRouteConnection } from "./route/open-route-connection.ts";
import { kernelTests } from "./testing/kernel-tests.ts";
import { otherNamespace } from "./testing/other-namespace.ts";

const OWN = "/proc/thread-self/ns/net";

kernelTests(import.meta.filename, () => {
  test("withNetworkNamespace() moves only the thread that calls it, in a worker too", async () => {
    const own = readlinkSync(OWN);
    const other = await otherNamespace();
    const host = openRouteConnection();
    host.write({ kind: "add-veth", veth: { name: "mark", peer: { name: "mark2" } } });
    const source = `
      import { parentPort } from "node:worker_threads";
      import { readlinkSync } from "node:fs";
      const { withNetworkNamespace, openRouteConnection } = await import(${JSON.stringify(import.meta.resolve("./index.ts"))});
      const path = ${JSON.stringify(other.path)};
      const connection = openRouteConnection({ namespace: path });
      withNetworkNamespace(path, () => {
        parentPort.postMessage({ inside: readlinkSync("${OWN}"), links: connection.links().length });
        // The main thread looks where it is while this one is elsewhere.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
      });
      parentPort.postMessage({ after: readlinkSync("${OWN}") });
      connection.close();`;
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
    const next = (): Promise<unknown> =>
      new Promise((resolve, reject) => {
        worker.once("message", resolve);
        worker.once("error", reject);
      });
    assert.deepEqual(await next(), { inside: readlinkSync(other.path), links: 1 });
    assert.equal(readlinkSync(OWN), own);
    assert.notEqual(readlinkSync(other.path), own);
    assert.equal(host.links().length, 3);
    assert.deepEqual(await next(), { after: own });
    await worker.terminate();
    host.close();
    other.done();
  });

  test("a file descriptor opened inside stays in its namespace", async () => {
    const other = await otherNamespace();
    const host = openRouteConnection();
    const inside = withNetworkNamespace(other.path, () => openRouteConnection());
    host.write({ kind: "add-veth", veth: { name: "a", peer: { name: "b" } } });
    assert.equal(inside.link("a"), undefined);
    assert.deepEqual(
      inside.links().map(({ name }) => name),
      ["lo"],
    );
    inside.close();
    host.close();
    other.done();
  });
});
