import assert from "node:assert/strict";
import { test } from "node:test";
import { CALICO_V3 } from "@bulrush/model";
import { memoryWriter } from "../testing/memory-writer.ts";
import { reconcileTunnelAddresses } from "./reconcile-node.ts";

const { signal } = new AbortController();

for (const [title, blockSize] of [
  ["more hosts than blocks", 29],
  ["one block for all", 26],
  ["a block for each address", 32],
] as const) {
  test(`twenty hosts at once get an address each: ${title}`, async () => {
    const writer = memoryWriter({ type: "file" });
    const spec = { cidr: "10.0.0.0/26", blockSize, ipipMode: "Always", vxlanMode: "Always" };
    writer.put({ apiVersion: CALICO_V3, kind: "IPPool", metadata: { name: "p" }, spec });
    const nodes = Array.from({ length: 20 }, (_, i) => `n${i}`);
    for (const name of nodes) writer.put({ apiVersion: CALICO_V3, kind: "Node", metadata: { name }, spec: {} });
    const all = (): Promise<readonly string[]> =>
      Promise.all(nodes.map((node) => reconcileTunnelAddresses(writer, { node, signal, now: () => 0 }))).then(
        (results) => results.flat().flatMap(({ after }) => (after === undefined || after === "" ? [] : [after])),
      );
    const first = await all();
    assert.deepEqual([first.length, new Set(first).size], [40, 40]);
    const written = writer.calls.length;
    assert.deepEqual(await all(), first);
    assert.equal(writer.calls.length, written, "what is as it should be is not written");
  });
}
