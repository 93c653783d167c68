import assert from "node:assert/strict";
import { it } from "node:test";
import type { Flow } from "@bulrush/netlink";
import { FakeNft } from "@bulrush/nftables";
import { EndedFlows } from "./ended-flows.ts";

const MINUTE_MS = 60_000;
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

it("EndedFlows refuses both directions of a flow, as they are behind the translation, for ten minutes", () => {
  const nft = new FakeNft();
  const ended = new EndedFlows();
  ended.write(nft, 0);
  assert.equal(elements(nft), undefined);
  ended.add([TCP], 0);
  ended.write(nft, 0);
  assert.deepEqual(elements(nft), BOTH_WAYS);
  assert.deepEqual([...(nft.readTable("ip", "calico-ended")?.chains.keys() ?? [])].sort(), ["forward", "input"]);
  ended.write(nft, 10 * MINUTE_MS - 1);
  assert.deepEqual(elements(nft), BOTH_WAYS);
  assert.equal(ended.nextMs, 10 * MINUTE_MS);
  ended.write(nft, 10 * MINUTE_MS);
  assert.equal(elements(nft), undefined);
  assert.equal(ended.nextMs, undefined);
});

it("EndedFlows goes on with what an earlier process has left, and takes it away in the end", () => {
  const nft = new FakeNft();
  const before = new EndedFlows();
  before.add([TCP], 0);
  before.write(nft, 0);
  const ended = new EndedFlows();
  ended.adopt(nft, 1000);
  ended.write(nft, 1000);
  assert.deepEqual(elements(nft), BOTH_WAYS);
  ended.write(nft, 1000 + 10 * MINUTE_MS);
  assert.equal(elements(nft), undefined);
});

it("EndedFlows is bounded, and leaves flows without ports to the rules", () => {
  const nft = new FakeNft();
  const ended = new EndedFlows();
  const ping: Flow = {
    ...TCP,
    protocol: 1,
    original: { source: "a", destination: "b" },
    reply: { source: "b", destination: "a" },
  };
  ended.add([ping], 0);
  ended.add(
    Array.from({ length: 5000 }, (_, i) => ({ ...TCP, original: { ...TCP.original, sourcePort: 1000 + i } })),
    0,
  );
  ended.write(nft, 0);
  assert.equal(elements(nft)?.length, 2000);
});
