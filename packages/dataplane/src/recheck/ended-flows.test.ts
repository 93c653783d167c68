import assert from "node:assert/strict";
import { it } from "node:test";
import type { Flow } from "@bulrush/netlink";
import { FakeNft, Transaction } from "@bulrush/nftables";
import { EndedFlows, type Moment } from "./ended-flows.ts";

const MINUTE_MS = 60_000;
/** Both clocks, which do not start together. */
const at = (unixMs: number, bootMs = 0): Moment => ({
  unixMs: 1_700_000_000_000 + unixMs,
  monotonicMs: unixMs - bootMs,
});
const TCP: Flow = {
  family: 4,
  protocol: 6,
  original: { source: "192.168.7.2", destination: "10.96.0.1", sourcePort: 40000, destinationPort: 443 },
  reply: { source: "10.65.0.2", destination: "192.168.7.1", sourcePort: 8443, destinationPort: 50000 },
  status: 0x30,
  mark: 0,
  zone: 0,
};
const elements = (nft: FakeNft): string[] | undefined => {
  const table = nft.readTable("ip", "calico-ended");
  return table === undefined ? undefined : [...(table.sets.get("ended")?.elements ?? [])].sort();
};
const BOTH_WAYS = ["tcp . 10.65.0.2 . 8443 . 192.168.7.2 . 40000", "tcp . 192.168.7.2 . 40000 . 10.65.0.2 . 8443"];

it("EndedFlows refuses both directions of a flow, as they are behind the translation, for a minute", () => {
  const nft = new FakeNft();
  const ended = new EndedFlows();
  ended.write(nft, at(0));
  assert.equal(elements(nft), undefined);
  ended.add([TCP], 0);
  ended.write(nft, at(0));
  assert.deepEqual(elements(nft), BOTH_WAYS);
  assert.deepEqual([...(nft.readTable("ip", "calico-ended")?.chains.keys() ?? [])].sort(), ["forward", "input"]);
  ended.write(nft, at(MINUTE_MS - 1));
  assert.deepEqual(elements(nft), BOTH_WAYS);
  assert.equal(ended.nextMs, MINUTE_MS);
  ended.write(nft, at(MINUTE_MS));
  assert.equal(elements(nft), undefined);
  assert.equal(ended.nextMs, undefined);
});

it("EndedFlows goes on with what an earlier process has left, as long as that one meant it to, however many come", () => {
  const nft = new FakeNft();
  const first = new EndedFlows();
  first.add([TCP], 0);
  first.write(nft, at(0));
  for (const startMs of [20_000, 40_000]) {
    const next = new EndedFlows();
    next.adopt(nft, at(startMs, startMs));
    next.write(nft, at(startMs, startMs));
    assert.deepEqual(elements(nft), BOTH_WAYS);
    assert.equal(next.nextMs, MINUTE_MS - startMs);
  }
  const last = new EndedFlows();
  last.adopt(nft, at(MINUTE_MS, MINUTE_MS));
  last.write(nft, at(MINUTE_MS, MINUTE_MS));
  assert.equal(elements(nft), undefined);
});

it("EndedFlows refuses no longer than a minute though the clock was set back", () => {
  const nft = new FakeNft();
  const first = new EndedFlows();
  first.add([TCP], 0);
  first.write(nft, at(0));
  const next = new EndedFlows();
  next.adopt(nft, at(-100 * MINUTE_MS, -100 * MINUTE_MS));
  assert.equal(next.nextMs, MINUTE_MS);
});

it("EndedFlows is bounded, tells what is too much, and leaves flows without ports to the rules", () => {
  const nft = new FakeNft();
  const ended = new EndedFlows();
  const ping: Flow = {
    ...TCP,
    protocol: 1,
    original: { source: "a", destination: "b" },
    reply: { source: "b", destination: "a" },
  };
  assert.equal(ended.add([ping], 0), 0);
  const many = Array.from({ length: 10_005 }, (_, i) => ({
    ...TCP,
    original: { ...TCP.original, sourcePort: 1000 + i },
  }));
  assert.equal(ended.add(many, 0), 5);
  ended.write(nft, at(0));
  assert.equal(elements(nft)?.length, 20_000);
});

it("EndedFlows remembers over a stop that flows are to be judged, beside what an earlier process has left", () => {
  const nft = new FakeNft();
  const isNoted = (): boolean => nft.readTable("ip", "calico-ended")?.chains.has("judge") === true;
  const first = new EndedFlows();
  first.add([TCP], 0);
  first.write(nft, at(0));
  const second = new EndedFlows();
  // Ahead of anything else: a start writes its rules first.
  nft.run(new Transaction().push(...second.remember()));
  assert.deepEqual([elements(nft), isNoted()], [BOTH_WAYS, true]);
  const third = new EndedFlows();
  third.adopt(nft, at(1000));
  assert.equal(third.isDue, true);
  third.write(nft, at(1000));
  assert.deepEqual([elements(nft), isNoted()], [BOTH_WAYS, true], "it waits for as long as it takes");
  third.forget();
  third.write(nft, at(2000));
  assert.deepEqual([elements(nft), isNoted()], [BOTH_WAYS, false]);
  third.write(nft, at(MINUTE_MS));
  assert.equal(elements(nft), undefined);
});
