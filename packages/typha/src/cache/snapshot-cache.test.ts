import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import type { SyncStatus } from "@bulrush/model";
import { encodeText } from "../testing/text-frames.ts";
import { runTranscript } from "../testing/transcript.ts";
import { settingUpdate } from "../testing/updates.ts";
import type { Breadcrumb } from "./breadcrumb.ts";
import type { Snapshot } from "./snapshot.ts";
import { SnapshotCache } from "./snapshot-cache.ts";

const DIRECTORY = new URL("testdata/", import.meta.url);

for (const name of readdirSync(DIRECTORY)) {
  test(`SnapshotCache behaves as in ${name}`, () => runTranscript(new URL(name, DIRECTORY), cacheCommands()));
}

/** The commands of the transcripts: see the prose of each file. */
function cacheCommands(): (command: string, args: readonly string[]) => string | Promise<string> {
  const turns: (() => void)[] = [];
  let encoded = 0;
  const tooBig: string[] = [];
  let nowMs = 1000;
  const newCache = (settings: Readonly<Record<string, number>>): SnapshotCache =>
    new SnapshotCache({
      syncer: "felix",
      epoch: "e",
      nowMs,
      encodeFrame: (message) => {
        encoded++;
        return encodeText(message, settings["tooBig"]);
      },
      onUnsendable: (path) => tooBig.push(path),
      yieldTurn: () => new Promise((resolve) => turns.push(resolve)),
      ...settings,
    });
  let cache = newCache({});
  const building = new Map<string, Promise<Snapshot>>();
  const done = new Map<string, Snapshot>();

  return async (command, args) => {
    const [first = "", second = ""] = args;
    switch (command) {
      case "cache":
        cache = newCache(Object.fromEntries(args.map((arg) => [arg.split("=")[0], Number(arg.split("=")[1])])));
        return "ok";
      case "publish": {
        nowMs += 10;
        const status = args.find((arg) => arg.startsWith("status="))?.slice("status=".length);
        const updates = args.filter((arg) => !arg.startsWith("status=")).map(settingUpdate);
        const { crumbs, skipped } = cache.publish({ updates, status: status as SyncStatus | undefined, nowMs });
        const notes = [
          ...(skipped > 0 ? [`${skipped} skipped`] : []),
          ...tooBig.splice(0).map((path) => `${path} is too big`),
        ];
        return [...crumbs.map(formatCrumb), ...notes].join("\n") || "nothing";
      }
      case "build": {
        encoded = 0;
        const snapshot = cache.snapshot();
        building.set(first, snapshot);
        void snapshot.then((built) => done.set(first, built));
        await settle();
        return done.has(first) ? `done, ${encoded} frames encoded` : "waits for its turn";
      }
      case "turn": {
        for (const turn of turns.splice(0)) turn();
        await settle();
        return building.size === done.size ? "all done" : "waits for its turn";
      }
      case "turns":
        while (building.size > done.size) {
          for (const turn of turns.splice(0)) turn();
          await settle();
        }
        return `all done, ${encoded} frames encoded`;
      case "read": {
        const snapshot = done.get(first);
        assert.ok(snapshot !== undefined, `${first} is not built`);
        return `belongs to ${snapshot.crumb.sequence}, ${snapshot.count} keys\n${snapshot.pieces.join("").trimEnd()}`;
      }
      case "follow": {
        const lines: string[] = [];
        for (let at = cache.at(Number(first))?.next; at !== undefined; at = at.next) lines.push(formatCrumb(at));
        return cache.at(Number(first)) === undefined ? "not held" : lines.join("\n") || "nothing new";
      }
      case "history": {
        const { count, oldestSequence } = cache.history;
        return `${count} breadcrumbs from ${oldestSequence}, ${cache.size} keys now`;
      }
      case "keys-at": {
        const kvs = cache.kvsAt(Number(first));
        return kvs === undefined
          ? "not held"
          : kvs
              .map((kv) => `${kv.path}=${String(kv.value)}`)
              .sort()
              .join(" ") || "none";
      }
      default:
        throw new Error(`Unknown command "${command} ${second}"`);
    }
  };
}

function formatCrumb(crumb: Breadcrumb): string {
  const frames = crumb.frame.toString().trimEnd().split("\n");
  return frames.map((frame, i) => `${i === 0 ? String(crumb.sequence).padStart(2) : "  "} ${frame}`).join("\n");
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("snapshot() comes in pieces of whole frames, of less than 64 KiB but for larger frames", async () => {
  const frames: Buffer[] = [];
  const cache = new SnapshotCache({
    syncer: "felix",
    epoch: "e",
    nowMs: 0,
    slotsPerChunk: 1,
    // A delta is of no interest here; chunks have 1, 21, 41 ... KiB, the end and the status 8 bytes each.
    encodeFrame: (message) => {
      if (message.type === "delta") return Buffer.alloc(8);
      const size = message.type === "snapshot" ? 1024 * (1 + 20 * frames.length) : 8;
      const frame = Buffer.alloc(size, frames.length);
      frames.push(frame);
      return frame;
    },
    yieldTurn: async () => {},
  });
  cache.publish({ updates: Array.from({ length: 8 }, (_, i) => settingUpdate(`k${i}=1@1`)), nowMs: 0 });
  const { pieces, bytes } = await cache.snapshot();
  assert.deepEqual(Buffer.concat(pieces), Buffer.concat(frames));
  assert.equal(bytes, Buffer.concat(frames).length);
  // 1 + 21 + 41; then each alone, and not copied.
  assert.deepEqual(
    pieces.map(({ length }) => length),
    [63, 61, 81, 101, 121, 141].map((kib) => 1024 * kib).concat(16),
  );
  assert.equal(pieces[2], frames[4]);
});

test("snapshot(true) is of no breadcrumb before the head, whatever is at hand, being made or read", async () => {
  const turns: (() => void)[] = [];
  const cache = new SnapshotCache({
    syncer: "felix",
    epoch: "e",
    nowMs: 0,
    encodeFrame: encodeText,
    yieldTurn: () => new Promise((resolve) => turns.push(resolve)),
    slotsPerChunk: 1,
  });
  const publish = (text: string): void => {
    cache.publish({ updates: [settingUpdate(text)], nowMs: 0 });
  };
  const finish = async <T>(work: Promise<T>): Promise<T> => {
    let isDone = false;
    const end = work.finally(() => (isDone = true));
    while (!isDone) {
      for (const turn of turns.splice(0)) turn();
      await new Promise((resolve) => setImmediate(resolve));
    }
    return end;
  };
  publish("a=1@1");
  const atHand = await finish(cache.snapshot());
  publish("b=1@2");
  assert.equal(await finish(cache.snapshot()), atHand, "good enough for who knows nothing");
  const newest = await finish(cache.snapshot(true));
  assert.equal(newest.crumb, cache.head);
  assert.equal(await finish(cache.snapshot(true)), newest, "nothing has changed");

  publish("c=1@3");
  const older = cache.snapshot(true);
  publish("d=1@4");
  const both = [cache.snapshot(true), cache.snapshot(true)];
  assert.equal((await finish(older)).crumb.sequence, 3);
  const [first, second] = await finish(Promise.all(both));
  assert.equal(first?.crumb, cache.head);
  assert.equal(second, first, "one is made for all who ask");

  for (let i = 5; i < 15; i++) {
    publish(`e=${i}@${i}`);
    assert.equal((await finish(cache.snapshot(true))).crumb, cache.head, "however many are being read");
  }
});
