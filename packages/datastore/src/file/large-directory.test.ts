/** A directory of ten thousand manifests, by a clock that stands still: what is counted does not depend on the machine. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { ManualClock } from "@bulrush/base";
import type { Item, WatchEvent, WatchStream } from "../driver/driver.ts";
import { openDatastore } from "../open.ts";

const FILES = 10_000;
const BURST = 1000;
const root = mkdtempSync(join(tmpdir(), "bulrush-large-"));
after(() => rmSync(root, { recursive: true, force: true }));

function policy(number: number, order: number): string {
  return `apiVersion: projectcalico.org/v3
kind: NetworkPolicy
metadata:
  name: policy-${number}
  namespace: ns-${number % 50}
spec:
  order: ${order}
  selector: app == 'a${number}'
  ingress:
    - action: Allow
      protocol: TCP
      source: { selector: role == 'client' }
      destination: { ports: [80, 443] }
`;
}

function write(number: number, order: number): void {
  writeFileSync(join(root, `ns-${number % 50}`, `policy-${number}.yaml`), policy(number, order));
}

/** Each answer of the watch until `count` events came, as time goes on in small steps. */
async function readsUntil(stream: WatchStream, count: number, clock: ManualClock): Promise<WatchEvent[][]> {
  const reads: WatchEvent[][] = [];
  let known = 0;
  let isOver = false;
  const reading = (async () => {
    while (known < count) {
      const events = await stream.next();
      assert.ok(events !== undefined);
      reads.push([...events]);
      known += events.length;
    }
  })().finally(() => (isOver = true));
  while (!isOver) await clock.advance(10);
  await reading;
  return reads;
}

test("a directory of ten thousand policies is read once; then only what changes is", async (t: TestContext) => {
  for (let i = 0; i < 50; i++) mkdirSync(join(root, `ns-${i}`));
  for (let i = 0; i < FILES; i++) write(i, 1);
  const clock = new ManualClock();
  const driver = await openDatastore({ type: "file", directory: root }, { clock });
  t.after(() => driver.close());
  const list = async (): Promise<{ items: Map<string, Item>; revision: string }> => {
    const items = new Map<string, Item>();
    let revision = "";
    for await (const page of driver.list({ kind: "NetworkPolicy", revision: "0", signal: t.signal })) {
      for (const item of page.items) items.set(item.name, item);
      ({ revision } = page);
    }
    return { items, revision };
  };
  const first = await list();
  assert.equal(first.items.size, FILES);
  assert.deepEqual(driver.problems(), []);
  const stream = await driver.watch({ kind: "NetworkPolicy", revision: first.revision, signal: t.signal });

  write(77, 2);
  const [reads] = await readsUntil(stream, 1, clock);
  assert.deepEqual(
    reads?.map((event) => "item" in event && event.item?.name),
    ["policy-77"],
  );
  const second = await list();
  // The very objects of before: no other file was parsed again.
  for (const [name, item] of second.items)
    assert.equal(item === first.items.get(name), name !== "policy-77", `${name} was read again`);

  for (let i = 0; i < BURST; i++) write(i, 3);
  const burst = await readsUntil(stream, BURST, clock);
  // An answer has at most 500; a scan under way at the time of the writes may have seen some of them before the others.
  assert.ok(burst.length <= 3, `${burst.length} answers`);
  const third = await list();
  assert.equal([...third.items].filter(([name, item]) => item !== second.items.get(name)).length, BURST);
});
