import assert from "node:assert/strict";
import { test } from "node:test";
import { readKV } from "./read-kv.ts";

test("readKV() takes the tier of a policy out of an older path", () => {
  const read = readKV("/calico/v1/policy/tier/t/policy/ns%2fx", { selector: "all()" });
  assert.deepEqual(read, {
    key: { type: "Policy", kind: "NetworkPolicy", namespace: "ns", name: "x" },
    path: "/calico/v1/policy/NetworkPolicy/ns/x",
    value: { selector: "all()", tier: "t" },
  });
  assert.equal(readKV("/calico/v1/policy/tier/t/policy/x", undefined)?.value, undefined);
  assert.equal(readKV("/calico/v1/policy/tier/t/policy/x", "odd")?.value, "odd");
});

test("readKV() leaves the value of every other key alone, and gives the path that the key has", () => {
  const value = { order: 1 };
  assert.equal(readKV("/calico/v1/policy/tier/t/metadata", value)?.value, value);
  assert.equal(readKV("calico/v1/config/X", "1")?.path, "/calico/v1/config/X");
  assert.equal(readKV("/calico/v1/nothing", "1"), undefined);
});
