import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeServerMessage, encodeMessage, type KV } from "@bulrush/proto";
import { type EncodedPart, encodeKVs } from "./encode-kvs.ts";

function kvOf(name: string, value: unknown): KV {
  return { path: `/calico/v1/config/${name}`, value, revision: "1", updateType: "new" };
}

function nested(levels: number): unknown {
  return levels === 0 ? 1 : [nested(levels - 1)];
}

test("encodeKVs() sets apart each KV that no client could read, with the reason, and sends the rest", () => {
  const kvs = [
    kvOf("a", "1"),
    kvOf("deep", nested(60)),
    kvOf("b", "2"),
    kvOf("date", { at: new Date(0) }),
    kvOf("c", "3"),
  ];
  const parts: EncodedPart[] = [];
  encodeKVs(
    kvs,
    1e6,
    (part) => encodeMessage({ type: "snapshot", kvs: part }),
    (part) => parts.push(part),
  );
  const sent = parts.flatMap((part) => {
    if (part.frame === undefined) return [];
    const message = decodeServerMessage(part.frame);
    return message.type === "snapshot" ? message.kvs.map(({ path }) => path) : [];
  });
  assert.deepEqual(sent, ["/calico/v1/config/a", "/calico/v1/config/b", "/calico/v1/config/c"]);
  const left = parts.flatMap((part) => (part.frame === undefined ? [`${part.kvs[0].path}: ${part.reason}`] : []));
  assert.equal(left.length, 2);
  assert.match(left[0] ?? "", /^\/calico\/v1\/config\/deep: .*nests too deep/);
  assert.match(left[1] ?? "", /^\/calico\/v1\/config\/date: /);
});
