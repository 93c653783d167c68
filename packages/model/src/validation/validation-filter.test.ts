import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Key } from "../v1/key.ts";
import { formatKey } from "../v1/path.ts";
import type { SyncerCallbacks, SyncStatus, Update } from "../v1/update.ts";
import type { Value } from "../v1/value.ts";
import { createValidationFilter, type ValidationFilterOptions } from "./validation-filter.ts";

const POLICY: Key = { type: "Policy", kind: "GlobalNetworkPolicy", namespace: "", name: "p" };
const TIER: Key = { type: "Tier", name: "t" };
const SET: Key = { type: "NetworkSet", name: "s" };
const WEP: Key = { type: "WorkloadEndpoint", hostname: "h", orchestrator: "k8s", workload: "w", endpoint: "e" };

const GOOD = { tier: "default", selector: "has(a)", inbound_rules: [{ action: "allow" }], outbound_rules: [] };
const BETTER = { ...GOOD, selector: "has(b)" };
const BAD = { ...GOOD, inbound_rules: [{ action: "allow", src_selector: "(" }] };
const CLOSED = { ...GOOD, inbound_rules: [] };
const BAD_SET = { nets: ["10.0.0.0/99"], labels: new Map() };

function update(key: Key, value: unknown, revision = "1"): Update {
  return { key, path: formatKey(key), value: value as Value | undefined, revision, type: "updated" };
}

function make(options?: ValidationFilterOptions): {
  readonly filter: SyncerCallbacks;
  readonly batches: (readonly Update[])[];
  readonly statuses: SyncStatus[];
  readonly reports: string[];
} {
  const batches: (readonly Update[])[] = [];
  const statuses: SyncStatus[] = [];
  const reports: string[] = [];
  const filter = createValidationFilter(
    {
      onStatusUpdated: (status) => void statuses.push(status),
      onUpdates: (updates) => void batches.push(updates),
    },
    ({ path }, issues, outcome) => reports.push(`${path} ${issues.map((issue) => issue.path).join(",")} ${outcome}`),
    options,
  );
  return { filter, batches, statuses, reports };
}

const P = "/calico/v1/policy/GlobalNetworkPolicy//p";

describe("createValidationFilter()", () => {
  it("passes a good batch on as it is, and statuses", () => {
    const { filter, batches, statuses, reports } = make();
    const batch = [update(POLICY, GOOD), update(SET, undefined)];
    void filter.onUpdates(batch);
    void filter.onStatusUpdated("in-sync");
    assert.equal(batches[0], batch);
    assert.deepEqual([statuses, reports], [["in-sync"], []]);
  });

  it("sends the closed form of a policy never read well", () => {
    const { filter, batches, reports } = make();
    void filter.onUpdates([update(POLICY, BAD, "7")]);
    assert.deepEqual(batches, [[update(POLICY, CLOSED, "7")]]);
    assert.deepEqual(reports, [`${P} inbound_rules[0].src_selector closed`]);
  });

  it("keeps the last good policy", () => {
    const { filter, batches, reports } = make();
    void filter.onUpdates([update(POLICY, GOOD)]);
    void filter.onUpdates([update(POLICY, BAD)]);
    assert.equal(batches.length, 1);
    assert.deepEqual(reports, [`${P} inbound_rules[0].src_selector kept-last-good`]);
    void filter.onUpdates([update(POLICY, BETTER)]);
    assert.deepEqual(batches[1], [update(POLICY, BETTER)]);
  });

  it("forgets the last good policy when it is deleted", () => {
    const { filter, batches } = make();
    void filter.onUpdates([update(POLICY, GOOD)]);
    void filter.onUpdates([update(POLICY, undefined)]);
    void filter.onUpdates([update(POLICY, BAD)]);
    assert.deepEqual(batches[2], [update(POLICY, CLOSED)]);
  });

  it("does not take a closed form for a good policy", () => {
    const { filter, batches, reports } = make();
    void filter.onUpdates([update(POLICY, BAD)]);
    void filter.onUpdates([update(POLICY, { ...BAD, selector: "has(c)" })]);
    assert.deepEqual(batches[1], [update(POLICY, { ...CLOSED, selector: "has(c)" })]);
    assert.equal(reports.length, 2);
  });

  it("judges good and bad of one key inside one batch in order", () => {
    const { filter, batches } = make();
    void filter.onUpdates([update(POLICY, GOOD), update(POLICY, BAD), update(SET, BAD_SET), update(POLICY, BETTER)]);
    assert.deepEqual(batches, [[update(POLICY, GOOD), update(SET, undefined), update(POLICY, BETTER)]]);
  });

  it("treats tiers like policies", () => {
    const { filter, batches, reports } = make();
    const bad = { order: 5, defaultAction: "Maybe" };
    void filter.onUpdates([update(TIER, bad)]);
    void filter.onUpdates([update(TIER, { order: 6, defaultAction: "Pass" })]);
    void filter.onUpdates([update(TIER, bad)]);
    assert.deepEqual(batches, [
      [update(TIER, { order: 5, defaultAction: "Deny" })],
      [update(TIER, { order: 6, defaultAction: "Pass" })],
    ]);
    assert.deepEqual(
      reports.map((line) => line.split(" ")[2]),
      ["closed", "kept-last-good"],
    );
  });

  it("removes other invalid values, also known ones; key, revision, type, order and count stay", () => {
    const { filter, batches, reports } = make();
    const good = { nets: [], labels: new Map() };
    void filter.onUpdates([update(SET, good)]);
    void filter.onUpdates([update(TIER, undefined), update(SET, BAD_SET, "9"), update(WEP, { name: "" })]);
    assert.deepEqual(batches[1], [update(TIER, undefined), update(SET, undefined, "9"), update(WEP, undefined)]);
    assert.deepEqual(reports, [
      "/calico/v1/netset/s nets[0] removed",
      "/calico/v1/host/h/workload/k8s/w/endpoint/e name removed",
    ]);
  });

  it("removes an endpoint that spoofs only where spoofing is disabled", () => {
    const spoofing = update(WEP, { name: "eth0", allow_spoofed_source_ips: ["8.8.8.8/32"], labels: new Map() });
    for (const [workloadSourceSpoofing, kept] of [
      ["Disabled", false],
      ["Any", true],
      [undefined, true],
    ] as const) {
      const { filter, batches } = make(workloadSourceSpoofing === undefined ? {} : { workloadSourceSpoofing });
      void filter.onUpdates([spoofing]);
      assert.deepEqual(batches, [[kept ? spoofing : update(WEP, undefined)]]);
    }
  });

  it("hands back the promise of the next stage", async () => {
    let done = false;
    const filter = createValidationFilter(
      {
        onStatusUpdated: () => undefined,
        onUpdates: async () => {
          await Promise.resolve();
          done = true;
        },
      },
      () => assert.fail("nothing is invalid here"),
    );
    await filter.onUpdates([update(POLICY, GOOD)]);
    assert.equal(done, true);
  });
});
