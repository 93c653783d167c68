import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import type { TunnelAddressResult } from "@bulrush/datastore";
import { formatKey, type Update } from "@bulrush/model";
import { createMetrics, memoryLogger, type MemoryLogger } from "@bulrush/service";
import { TunnelAddresses } from "./tunnel-addresses.ts";

const pool = (cidr: string, disabled = false): Update => {
  const key = { type: "IPPool", cidr } as const;
  const value = {
    cidr,
    ipip: "",
    ipip_mode: "",
    vxlan_mode: "always",
    masquerade: true,
    ipam: true,
    disabled,
    disableBGPExport: false,
    assignment_mode: "Automatic",
    allowed_uses: [],
  } as const;
  return { key, path: formatKey(key), value, revision: "1", type: "new" };
};

const node = (name: string, zone: string, revision = "1"): Update => {
  const key = { type: "Resource", kind: "Node", namespace: "", name } as const;
  const value = { apiVersion: "projectcalico.org/v3", kind: "Node", metadata: { name, labels: { zone } }, spec: {} };
  return { key, path: formatKey(key), value, revision, type: "new" } as Update;
};

const ASSIGNED: TunnelAddressResult = { kind: "vxlan", plan: { action: "keep" }, before: "", after: "10.0.0.1" };

interface Rig {
  readonly clock: ManualClock;
  readonly logger: MemoryLogger;
  readonly addresses: TunnelAddresses;
  runs: number;
  fails: boolean;
  /** Set: a reconciliation waits for it. */
  gate: Promise<void> | undefined;
}

function rig(): Rig {
  const clock = new ManualClock();
  const logger = memoryLogger();
  const state: Rig = { clock, logger, runs: 0, fails: false, gate: undefined } as unknown as Rig;
  const addresses = new TunnelAddresses({
    hostname: "h",
    clock,
    random: () => 0.5,
    logger,
    metrics: createMetrics(),
    async reconcile() {
      state.runs++;
      await state.gate;
      if (state.fails) throw new Error("no route to the API server");
      return [ASSIGNED];
    },
  });
  return Object.assign(state, { addresses });
}

test("TunnelAddresses reconciles at the first in-sync, once, and says what it gave", async () => {
  const { addresses, clock, logger, ...rest } = rig();
  void rest;
  addresses.onUpdates([pool("10.0.0.0/16"), node("h", "a")]);
  await clock.advance(10_000);
  assert.deepEqual(logger.records, []);
  addresses.onInSync();
  addresses.onInSync();
  await clock.advance(10_000);
  assert.deepEqual(
    logger.records.map(({ message, fields }) => [message, fields["after"]]),
    [["Tunnel address", "10.0.0.1"]],
  );
});

test("TunnelAddresses reconciles when a pool or its own node changes, and a burst is one reason", async () => {
  const state = rig();
  const { addresses, clock } = state;
  addresses.onUpdates([pool("10.0.0.0/16"), node("h", "a"), node("other", "a")]);
  addresses.onInSync();
  await clock.advance(10_000);
  assert.equal(state.runs, 1);
  const changes: readonly (readonly [what: string, updates: readonly Update[], runs: number])[] = [
    ["the same pool again", [pool("10.0.0.0/16")], 1],
    [
      "the pool with another nodeSelector, which only its revision shows",
      [{ ...pool("10.0.0.0/16"), revision: "2" }],
      2,
    ],
    ["the own node again", [node("h", "a", "2")], 2],
    ["another node", [node("other", "b")], 2],
    ["another pool and the own node", [pool("10.1.0.0/16"), node("h", "b")], 3],
    ["a pool that is disabled", [pool("10.1.0.0/16", true)], 4],
    ["a pool that is gone", [{ ...pool("10.1.0.0/16"), value: undefined }], 5],
  ];
  for (const [what, updates, runs] of changes) {
    for (const update of updates) addresses.onUpdates([update]);
    await clock.advance(10_000);
    assert.equal(state.runs, runs, what);
  }
});

test("TunnelAddresses compares about every five minutes though nothing was told", async () => {
  const state = rig();
  const { addresses, clock } = state;
  addresses.onInSync();
  await clock.advance(0);
  assert.equal(state.runs, 1);
  for (let i = 2; i <= 4; i++) {
    await clock.advance(299_999);
    assert.equal(state.runs, i - 1);
    await clock.advance(1);
    assert.equal(state.runs, i);
  }
  addresses.onUpdates([pool("10.0.0.0/16")]);
  await clock.advance(1000);
  assert.equal(state.runs, 5, "a reason does not wait for it");
  addresses.stop();
  await clock.advance(600_000);
  assert.equal(state.runs, 5);
});

test("TunnelAddresses tries again after a failure, ever more slowly, and does not run twice at once", async () => {
  const state = rig();
  const { addresses, clock } = state;
  state.fails = true;
  addresses.onInSync();
  await clock.advance(0);
  await clock.advance(60_000);
  const early = state.runs;
  assert.ok(early >= 4 && early <= 8, String(early));
  await clock.advance(600_000);
  assert.ok(state.runs - early <= 21, String(state.runs - early));
  state.fails = false;
  await clock.advance(61_000);
  const settled = state.runs;
  await clock.advance(200_000);
  assert.equal(state.runs, settled);

  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  addresses.onUpdates([pool("10.2.0.0/16")]);
  await clock.advance(5000);
  assert.equal(state.runs, settled + 1);
  addresses.onUpdates([pool("10.3.0.0/16")]);
  await clock.advance(5000);
  assert.equal(state.runs, settled + 1);
  gate.resolve();
  await clock.advance(0);
  await clock.advance(5000);
  assert.equal(state.runs, settled + 2);
  addresses.stop();
  addresses.onUpdates([pool("10.4.0.0/16")]);
  await clock.advance(5000);
  assert.equal(state.runs, settled + 2);
});
