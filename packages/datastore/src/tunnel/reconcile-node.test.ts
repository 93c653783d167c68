import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Block, CALICO_V3, type NodeResource } from "@bulrush/model";
import fc from "fast-check";
import type { DatastoreErrorCode } from "../errors.ts";
import { type MemoryWriter, memoryWriter } from "../testing/memory-writer.ts";
import { emptyBlock, type Owner, withOwner } from "./block.ts";
import { reconcileTunnelAddresses, type TunnelAddressOptions } from "./reconcile-node.ts";

const NOW_MS = Date.parse("2026-01-01T00:00:00Z");
const { signal } = new AbortController();

function resource(kind: string, name: string, spec: object, more: object = {}) {
  return { apiVersion: CALICO_V3, kind, metadata: { name }, spec, ...more };
}

interface World {
  readonly node?: object;
  readonly status?: object;
  readonly pool?: object;
  readonly blocks?: readonly Block[];
  readonly handles?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly others?: readonly ReturnType<typeof resource>[];
  readonly fails?: Readonly<Record<string, DatastoreErrorCode>>;
  readonly onFailure?: (writer: MemoryWriter) => void;
}

function world({ node = {}, status, pool, blocks = [], handles = {}, others = [], fails, onFailure }: World = {}) {
  const writer = memoryWriter({ type: "file", ...(fails && { fails }), ...(onFailure && { onFailure }) });
  writer.put(resource("Node", "n1", node, status && { status }));
  writer.put(resource("IPPool", "p", { cidr: "10.0.0.0/24", blockSize: 26, ipipMode: "Always", ...pool }));
  for (const block of blocks) writer.put(resource("IPAMBlock", block.cidr.replaceAll(/[./]/g, "-"), block));
  for (const [id, block] of Object.entries(handles))
    writer.put(resource("IPAMHandle", id.toLowerCase(), { handleID: id, block }));
  for (const other of others) writer.put(other);
  return writer;
}

const reconcile = (writer: MemoryWriter, options: Partial<TunnelAddressOptions> = {}) =>
  reconcileTunnelAddresses(writer, { node: "n1", signal, now: () => NOW_MS, ...options });

function nodeSpec(writer: MemoryWriter): NodeResource["spec"] {
  return writer.find("Node", "n1")?.spec as NodeResource["spec"];
}

function blocksIn(writer: MemoryWriter): Promise<readonly Block[]> {
  return all(writer, "IPAMBlock") as Promise<readonly Block[]>;
}

async function all(writer: MemoryWriter, kind: string): Promise<readonly unknown[]> {
  const out: unknown[] = [];
  for await (const page of writer.list({ apiVersion: CALICO_V3, kind }, signal))
    out.push(...page.map((one) => one.resource.spec));
  return out;
}

const IPIP: Owner = { handle: "ipip-tunnel-addr-n1", attributes: { node: "n1", type: "ipipTunnelAddress" } };
const POD: Owner = { handle: "k8s-pod-network.1", attributes: { pod: "p", namespace: "s", node: "n1" } };
const ADDRESS = "10.0.0.0";
const FREE = emptyBlock("10.0.0.0/26", "n1", 0);
const AFFINITY = resource("BlockAffinity", "n1-10-0-0-0-26", {
  state: "confirmed",
  node: "n1",
  type: "host",
  cidr: "10.0.0.0/26",
});

const held = (block: Block): readonly (readonly [number, string, unknown])[] =>
  block.allocations.flatMap((index, ordinal) => {
    const attribute = index === null ? undefined : block.attributes[index];
    return attribute === undefined ? [] : [[ordinal, attribute.handle_id ?? "", attribute.secondary] as const];
  });

test("only a pool for workloads: the field is cleared with its struct, the handle released", async () => {
  const writer = world({
    node: { bgp: { ipv4IPIPTunnelAddr: ADDRESS }, ipv4VXLANTunnelAddr: "10.9.9.9" },
    pool: { allowedUses: ["Workload"] },
    blocks: [withOwner(FREE, 0, IPIP)],
    handles: { [IPIP.handle]: { "10.0.0.0/26": 1 } },
    others: [AFFINITY],
  });
  await reconcile(writer);
  assert.deepEqual(nodeSpec(writer), {});
  assert.equal(writer.find("IPAMHandle", IPIP.handle), undefined);
  assert.deepEqual((await blocksIn(writer)).map(held), [[]]);
});

test("an address without handle and attributes is claimed again, with both", async () => {
  const writer = world({
    node: { bgp: { ipv4IPIPTunnelAddr: ADDRESS } },
    blocks: [withOwner(FREE, 0, { handle: "", attributes: {} })],
    others: [AFFINITY],
  });
  const results = await reconcile(writer);
  assert.deepEqual(results[2], { kind: "ipip", plan: { action: "re-claim" }, before: ADDRESS, after: ADDRESS });
  assert.deepEqual((await blocksIn(writer)).map(held), [[[0, IPIP.handle, IPIP.attributes]]]);
  assert.deepEqual(writer.find("IPAMHandle", IPIP.handle)?.spec, {
    handleID: IPIP.handle,
    block: { "10.0.0.0/26": 1 },
    deleted: false,
  });
  assert.ok(!writer.calls.includes("update Node n1"), "a node that stays the same is not written");
});

test("a re-claimed address that somebody takes meanwhile is theirs; another one is assigned", async () => {
  const writer = world({
    node: { bgp: { ipv4IPIPTunnelAddr: ADDRESS } },
    blocks: [withOwner(FREE, 0, { handle: "", attributes: {} })],
    others: [AFFINITY],
    fails: { "update IPAMBlock 10-0-0-0-26": "DATASTORE_CONFLICT" },
    onFailure: (at) => at.put(resource("IPAMBlock", "10-0-0-0-26", withOwner(FREE, 0, POD))),
  });
  await reconcile(writer);
  assert.equal(nodeSpec(writer)?.bgp?.ipv4IPIPTunnelAddr, "10.0.0.1");
  assert.deepEqual((await blocksIn(writer)).map(held), [
    [
      [0, POD.handle, POD.attributes],
      [1, IPIP.handle, IPIP.attributes],
    ],
  ]);
});

test("an address of a pod is left with the pod", async () => {
  const writer = world({
    node: { bgp: { asNumber: 64512, ipv4IPIPTunnelAddr: ADDRESS } },
    blocks: [withOwner(FREE, 0, POD)],
    others: [AFFINITY],
  });
  await reconcile(writer);
  assert.deepEqual(nodeSpec(writer), { bgp: { asNumber: 64512, ipv4IPIPTunnelAddr: "10.0.0.1" } });
});

test("an address that leaves its pool is released, and one of the right pool assigned", async () => {
  const old = emptyBlock("10.9.0.0/26", "n1", 0);
  const writer = world({
    node: { bgp: { ipv4IPIPTunnelAddr: "10.9.0.0" } },
    blocks: [withOwner(old, 0, IPIP)],
    handles: { [IPIP.handle]: { "10.9.0.0/26": 1 } },
    others: [resource("IPPool", "old", { cidr: "10.9.0.0/24", ipipMode: "Never" })],
  });
  await reconcile(writer);
  assert.match(nodeSpec(writer)?.bgp?.ipv4IPIPTunnelAddr ?? "", /^10\.0\.0\.(?:0|64|128|192)$/);
  const left = (await blocksIn(writer)).find(({ cidr }) => cidr === "10.9.0.0/26");
  assert.deepEqual(left && held(left), []);
});

test("a block is claimed: a pending affinity, the block, the affinity confirmed, with the labels of its host", async () => {
  const writer = world({ pool: { cidr: "10.0.0.0/26" } });
  await reconcile(writer);
  assert.deepEqual(writer.calls, [
    "create BlockAffinity n1-10-0-0-0-26",
    "create IPAMBlock 10-0-0-0-26",
    "update BlockAffinity n1-10-0-0-0-26",
    `create IPAMHandle ${IPIP.handle}`,
    "update IPAMBlock 10-0-0-0-26",
    "update Node n1",
  ]);
  const affinity = writer.find("BlockAffinity", "n1-10-0-0-0-26");
  assert.deepEqual(affinity?.spec, AFFINITY.spec);
  assert.deepEqual(Object.keys(affinity?.metadata.labels ?? {}), [
    "projectcalico.org/affinity-type",
    "projectcalico.org/hostname-hash",
    "projectcalico.org/ip-version",
  ]);
});

test("a host that loses the race for a block deletes its affinity, and borrows what the other has made", async () => {
  const others = emptyBlock("10.0.0.0/26", "n2", 0);
  const writer = world({
    pool: { cidr: "10.0.0.0/26" },
    fails: { "create IPAMBlock 10-0-0-0-26": "DATASTORE_ALREADY_EXISTS" },
    onFailure: (at) => at.put(resource("IPAMBlock", "10-0-0-0-26", others)),
  });
  await reconcile(writer);
  assert.equal(writer.find("BlockAffinity", "n1-10-0-0-0-26"), undefined);
  assert.equal(nodeSpec(writer)?.bgp?.ipv4IPIPTunnelAddr, ADDRESS);
});

test("strict affinity: nothing is borrowed, and the node is not written", async () => {
  const writer = world({
    pool: { cidr: "10.0.0.0/26" },
    blocks: [emptyBlock("10.0.0.0/26", "n2", 0)],
    others: [resource("IPAMConfig", "default", { strictAffinity: true, autoAllocateBlocks: true })],
  });
  await assert.rejects(reconcile(writer), { code: "DATASTORE_FAILED", message: "No address is free in p" });
  assert.deepEqual(writer.calls, []);
});

test("no host claims more blocks than it may", async () => {
  const full = FREE.unallocated.reduce((block, ordinal) => withOwner(block, ordinal, POD), FREE);
  const writer = world({
    blocks: [full],
    others: [
      AFFINITY,
      resource("IPAMConfig", "default", { strictAffinity: true, autoAllocateBlocks: true, maxBlocksPerHost: 1 }),
    ],
  });
  await assert.rejects(reconcile(writer), { message: "No address is free in p" });
});

test("reserved addresses are never assigned", async () => {
  const writer = world({
    blocks: [FREE],
    others: [AFFINITY, resource("IPReservation", "r", { reservedCIDRs: ["10.0.0.0/30"] })],
  });
  await reconcile(writer);
  assert.equal(nodeSpec(writer)?.bgp?.ipv4IPIPTunnelAddr, "10.0.0.4");
});

test("a cooldown keeps a released address out of use", async () => {
  const writer = world({
    blocks: [withOwner(FREE, 0, IPIP)],
    handles: { [IPIP.handle]: { "10.0.0.0/26": 1 } },
    others: [
      AFFINITY,
      resource("IPAMConfig", "default", { strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 60 }),
    ],
  });
  // The field is empty: what the handle has is released, and one assigned.
  await reconcile(writer);
  assert.equal(nodeSpec(writer)?.bgp?.ipv4IPIPTunnelAddr, "10.0.0.1");
  const [block] = await blocksIn(writer);
  assert.equal(block?.attributes[block.allocations[0] ?? -1]?.releasedAt, "2026-01-01T00:00:00.000Z");
});

describe("where the node cannot be written, what was newly assigned is released", () => {
  for (const code of ["DATASTORE_FAILED", "DATASTORE_UNAUTHORIZED", "DATASTORE_TIMEOUT"] as const) {
    test(code, async () => {
      const writer = world({ blocks: [FREE], others: [AFFINITY], fails: { "update Node n1": code } });
      await assert.rejects(reconcile(writer), { code });
      assert.deepEqual((await blocksIn(writer)).map(held), [[]]);
      assert.deepEqual(await all(writer, "IPAMHandle"), []);
    });
  }
});

test("somebody else's write of the node is kept", async () => {
  const writer = world({
    blocks: [FREE],
    others: [AFFINITY],
    fails: { "update Node n1": "DATASTORE_CONFLICT" },
    onFailure: (at) => at.put(resource("Node", "n1", { bgp: { asNumber: 7 } })),
  });
  await reconcile(writer);
  assert.deepEqual(nodeSpec(writer), { bgp: { asNumber: 7, ipv4IPIPTunnelAddr: ADDRESS } });
});

test("where somebody else sets the address meanwhile, ours is given back", async () => {
  const theirs = { bgp: { ipv4IPIPTunnelAddr: "10.0.0.9" } };
  const writer = world({
    blocks: [FREE],
    others: [AFFINITY],
    fails: { "update Node n1": "DATASTORE_CONFLICT" },
    onFailure: (at) => at.put(resource("Node", "n1", theirs)),
  });
  await assert.rejects(reconcile(writer), { code: "DATASTORE_FAILED" });
  assert.deepEqual(nodeSpec(writer), theirs);
  assert.deepEqual((await blocksIn(writer)).map(held), [[]]);
});

test("a block that contradicts itself is named, and nothing is written", async () => {
  const writer = world({
    node: { bgp: { ipv4IPIPTunnelAddr: ADDRESS } },
    blocks: [{ ...FREE, allocations: [5] }],
  });
  await assert.rejects(reconcile(writer), { code: "DATASTORE_MALFORMED", message: /10-0-0-0-26/ });
  assert.deepEqual(writer.calls, []);
});

test("every device gets an address of its own, in one write of the node", async () => {
  const writer = world({
    status: { wireguardPublicKey: "k", wireguardPublicKeyV6: "k" },
    pool: { vxlanMode: "CrossSubnet" },
    others: [resource("IPPool", "v6", { cidr: "fd00::/64", vxlanMode: "Always" })],
  });
  const results = await reconcile(writer);
  assert.deepEqual(
    results.map(({ kind, plan }) => [kind, plan.action]),
    ["wireguard", "wireguardV6", "ipip", "vxlan", "vxlanV6"].map((kind) => [kind, "assign"]),
  );
  assert.equal(new Set(results.map(({ after }) => after)).size, 5);
  assert.equal(writer.calls.filter((call) => call === "update Node n1").length, 1);
  const again = await reconcile(writer);
  assert.deepEqual(
    again.map(({ plan, before, after }) => [plan.action, after === before]),
    Array.from({ length: 5 }, () => ["keep", true]),
  );
});

/** The long form tries other things each time; the short one always the same. */
const PARAMETERS = process.env["BULRUSH_LONG_TESTS"] === "1" ? { numRuns: 2000 } : { numRuns: 100, seed: 1 };
const MODES = fc.constantFrom("Always", "CrossSubnet", "Never");
const STEP = fc.record({
  node: fc.constantFrom("n1", "n2", "n3"),
  pool: fc.constantFrom("10.0.0.0/28", "10.0.1.0/29"),
  spec: fc.record({ ipipMode: MODES, vxlanMode: MODES, disabled: fc.boolean() }),
});

test("whatever the pools do, no address has two owners, and handles, blocks and nodes agree", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 12 }), async (steps) => {
      const writer = memoryWriter({ type: "file" });
      for (const name of ["n1", "n2", "n3"]) writer.put(resource("Node", name, {}));
      for (const { node, pool, spec } of steps) {
        writer.put(resource("IPPool", pool.replaceAll(/[./]/g, "-"), { cidr: pool, blockSize: 30, ...spec }));
        await reconcile(writer, { node });
      }
      const blocks = await blocksIn(writer);
      const owned = blocks.flatMap((block) => {
        const [network = "", first = ""] = /^(.*\.)(\d+)\//.exec(block.cidr)?.slice(1) ?? [];
        return held(block).map(([ordinal, handle]) => `${handle} ${network}${Number(first) + ordinal}`);
      });
      const said = ["n1", "n2", "n3"].flatMap((name) => {
        const spec = writer.find("Node", name)?.spec as NodeResource["spec"];
        const { bgp, ipv4VXLANTunnelAddr: vxlan } = spec ?? {};
        const ipip = bgp?.ipv4IPIPTunnelAddr;
        return [
          ...(ipip === undefined ? [] : [`ipip-tunnel-addr-${name} ${ipip}`]),
          ...(vxlan === undefined ? [] : [`vxlan-tunnel-addr-${name} ${vxlan}`]),
        ];
      });
      assert.deepEqual(owned.sort(), said.sort());
      const handles = (await all(writer, "IPAMHandle")) as { handleID: string; block: Record<string, number> }[];
      const counted = handles.map(({ handleID, block }) => `${handleID} ${Object.values(block).join()}`);
      assert.deepEqual(
        counted.sort(),
        said.map((one) => `${one.split(" ")[0]} 1`),
      );
    }),
    PARAMETERS,
  );
});
