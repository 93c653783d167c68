import assert from "node:assert/strict";
import { test } from "node:test";
import type { KindReport } from "@bulrush/datastore";
import { createMetrics } from "@bulrush/service";
import { registerKindMetrics } from "./kind-metrics.ts";
import { kindWords } from "./kind-words.ts";

const NOON_MS = Date.UTC(2026, 10, 30, 12);
const WELL: KindReport = { kind: "Node", status: "in-sync", upstreamAgeMs: 5, keys: 3 };
const FORBIDDEN: KindReport = {
  kind: "NetworkPolicy",
  status: "resync",
  reason: "List failed: no right to",
  code: "DATASTORE_UNAUTHORIZED",
  sinceMs: NOON_MS + 1000,
  upstreamAgeMs: undefined,
  keys: 0,
};
const missing = (kind: KindReport["kind"], sinceMs: number): KindReport => ({
  kind,
  status: "in-sync",
  reason: `The server has no ${kind}`,
  code: "DATASTORE_NOT_FOUND",
  sinceMs,
  upstreamAgeMs: 5,
  keys: 0,
});
const UNUSABLE: KindReport = {
  ...WELL,
  kind: "Tier",
  unusable: {
    items: 2,
    sinceMs: NOON_MS + 2000,
    oldest: { severity: "error", message: "is no number", kind: "Tier", name: "ops", field: "spec.order" },
  },
};
const ONE_UNUSABLE: KindReport = {
  ...UNUSABLE,
  unusable: { ...(UNUSABLE.unusable as NonNullable<KindReport["unusable"]>), items: 1 },
};

const ROWS: readonly (readonly [reports: readonly KindReport[], words: string])[] = [
  [[WELL], ""],
  [
    [missing("BGPPeer", NOON_MS), FORBIDDEN],
    "NetworkPolicy is not in sync: List failed: no right to (DATASTORE_UNAUTHORIZED, since 2026-11-30T12:00:01Z); " +
      "BGPPeer: The server has no BGPPeer (DATASTORE_NOT_FOUND, since 2026-11-30T12:00:00Z)",
  ],
  [
    [missing("BGPPeer", NOON_MS + 9000), WELL, missing("BGPFilter", NOON_MS), missing("IPPool", NOON_MS + 9000)],
    "BGPPeer, BGPFilter and IPPool: The server has no BGPPeer, and alike " +
      "(DATASTORE_NOT_FOUND, since 2026-11-30T12:00:00Z)",
  ],
  [
    [{ ...WELL, status: "wait-for-ready", reason: "Not listed yet", sinceMs: NOON_MS }],
    "Node is not in sync: Not listed yet (since 2026-11-30T12:00:00Z)",
  ],
  [
    [UNUSABLE],
    "2 of Tier cannot be used as written (since 2026-11-30T12:00:02Z), the oldest: Tier ops: spec.order: is no number",
  ],
  [
    [ONE_UNUSABLE],
    "1 of Tier cannot be used as written (since 2026-11-30T12:00:02Z): Tier ops: spec.order: is no number",
  ],
];

for (const [reports, words] of ROWS) {
  test(`kindWords() of ${reports.map(({ kind }) => kind).join(", ")} says ${JSON.stringify(words.slice(0, 60))}`, () => {
    assert.equal(kindWords(reports), words);
  });
}

test("kindWords() cuts a reason that would fill the table", () => {
  assert.ok(kindWords([{ ...FORBIDDEN, reason: "x".repeat(100_000) }]).length < 400);
});

test("registerKindMetrics() has a line for what is amiss, with its code and time, and none for what is well", async () => {
  const metrics = createMetrics();
  const kinds = [WELL, FORBIDDEN, UNUSABLE];
  registerKindMetrics(metrics, [{ type: "felix", kinds: () => kinds }]);
  const lines = async (): Promise<string[]> =>
    (await metrics.text()).split("\n").filter((line) => !line.startsWith("#"));
  const page = await lines();
  for (const line of [
    'bulrush_typha_kind_in_sync{syncer="felix",kind="Node"} 1',
    'bulrush_typha_kind_keys{syncer="felix",kind="Node"} 3',
    'bulrush_typha_kind_in_sync{syncer="felix",kind="NetworkPolicy"} 0',
    `bulrush_typha_kind_amiss_since_timestamp_seconds{syncer="felix",kind="NetworkPolicy",code="DATASTORE_UNAUTHORIZED"} ${NOON_MS / 1000 + 1}`,
    'bulrush_typha_unusable_objects{syncer="felix",kind="Node"} 0',
    'bulrush_typha_unusable_objects{syncer="felix",kind="Tier"} 2',
    `bulrush_typha_unusable_objects_since_timestamp_seconds{syncer="felix",kind="Tier"} ${NOON_MS / 1000 + 2}`,
  ])
    assert.ok(page.includes(line), `${line}\n${page.join("\n")}`);
  const count = (text: string): number => page.filter((line) => line.startsWith(text)).length;
  assert.equal(count("bulrush_typha_kind_amiss_since"), 1);
  assert.equal(count("bulrush_typha_unusable_objects_since"), 1);
  kinds.splice(1, 2);
  assert.ok((await lines()).every((line) => !line.includes("_since_")));
});
