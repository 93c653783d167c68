import assert from "node:assert/strict";
import { test } from "node:test";
import { formatKey, type Update } from "@bulrush/model";
import { StartCollector } from "./start-collector.ts";

function kv(name: string, value: string | undefined): Update {
  const key = { type: "GlobalConfig", name } as const;
  return { key, path: formatKey(key), value, revision: "", type: "new" };
}

test("StartCollector keeps the newest value of what exists and hands it out once, in slices", () => {
  const collector = new StartCollector();
  collector.add([kv("a", "1"), kv("b", "1"), kv("c", "1")]);
  collector.add([kv("a", "2"), kv("b", undefined), kv("d", "1")]);
  assert.equal(collector.size, 3);
  const slices = [...collector.drain(2)].map((slice) =>
    slice.map(({ path, value }) => `${path}=${JSON.stringify(value)}`),
  );
  assert.deepEqual(slices, [['/calico/v1/config/a="2"', '/calico/v1/config/c="1"'], ['/calico/v1/config/d="1"']]);
  assert.equal(collector.size, 0);
});
