import assert from "node:assert/strict";
import { seededRandom } from "@bulrush/base";
import { CALICO_CRD_V1, CALICO_V3 } from "@bulrush/model";
import { type KubeObject, KubeRefusal } from "../kube/kube-admin.ts";
import { KubeServer } from "../kube/kube-server.ts";
import { ShippedRole } from "../kube-driver/shipped-role.ts";
import { TyphaProcess } from "../kube-driver/typha-process.ts";
import { LabNetwork } from "../lab/network.ts";
import { Choices } from "../random/choices.ts";
import { DegradedCluster, SECOND_MS } from "./datastore-degraded-cluster.ts";
import { onceServed, openDefinitions, put } from "./datastore-degraded-definitions.ts";
import { calicoRows, NAMESPACE, NATIVE_ROWS, REFUSED_BY_THE_SERVER, type Row } from "./datastore-degraded-objects.ts";
import type { Scenario, ScenarioFigures, ScenarioOptions } from "./scenario.ts";

/** Kinds that the felix stream does not have. */
const OF_OTHER_STREAMS = ["BGPFilter", "BlockAffinity", "CalicoNodeStatus"] as const;

/**
 * A cluster that is not well, and a real Typha on it with the shipped role.
 *
 *     1  half of Calico's definitions are not there; one kind may not be read; of each kind one object is malformed
 *     2  the kind may be read     3  the definitions are installed     4  the kind may not be read any more, and again
 *     5  the malformed objects are mended
 *
 * After each step: changes of everything that is not affected arrive, neighbours of malformed objects among them; what is
 * wrong stands in the readiness, the metrics and the log, with kind, reason and time, and no more once it is mended. The
 * process is the same from the first step to the last, and nothing is ever taken for deleted.
 */
async function run({ seed, quick, progress }: ScenarioOptions): Promise<ScenarioFigures> {
  progress(`seed ${seed}`);
  const network = new LabNetwork();
  const groups = quick ? [seed % 2 === 1 ? CALICO_CRD_V1 : CALICO_V3] : [CALICO_CRD_V1, CALICO_V3];
  let [changes, slowestMs] = [0, 0];
  for (const group of groups) {
    const figures = await runOn(group, new Choices(seededRandom(seed)), progress);
    changes += figures.changes;
    slowestMs = Math.max(slowestMs, figures.slowestMs);
  }
  network.close();
  return { seed, groups: groups.join(" "), kinds: calicoRows("").length + NATIVE_ROWS.length, changes, slowestMs };
}

interface BrokenCluster {
  readonly kube: KubeServer;
  readonly role: ShippedRole;
  /** Kinds that are there and may be read. */
  readonly present: readonly Row[];
  readonly forbidden: Row;
  readonly missing: readonly Row[];
  readonly install: (kind: string) => Promise<KubeObject>;
  /** Nobody with the role may read the forbidden kind from now on. */
  readonly forbid: () => Promise<void>;
}

/** An API server in the state before the first step. `choices` say which kinds are affected. */
async function breakCluster(group: string, choices: Choices): Promise<BrokenCluster> {
  const rows = calicoRows(group);
  // Without it Typha serves nobody.
  const needed = rows.filter(({ kind }) => kind === "ClusterInformation");
  const rest = rows.filter((row) => !needed.includes(row));
  const others = choices.some(rest, rest.length, rest.length);
  const half = Math.floor(rows.length / 2);
  const missing = others.slice(0, half);
  const [forbidden, ...open] = others.slice(half);
  assert.ok(forbidden !== undefined);
  const kube = await KubeServer.start();
  const { admin } = kube;
  const definitions = await openDefinitions(admin, group.split("/")[0] ?? "");
  const install = (kind: string): Promise<KubeObject> => admin.create(definitions.get(kind) ?? assert.fail(kind));
  for (const { kind } of [...needed, forbidden, ...open]) await install(kind);
  for (const kind of OF_OTHER_STREAMS) await install(kind);
  for (const definition of (await openDefinitions(admin, "policy.networking.k8s.io")).values())
    await admin.create(definition);
  await admin.createNamespace(NAMESPACE);
  await admin.create({ apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
  for (const object of REFUSED_BY_THE_SERVER)
    await assert.rejects(admin.create(object), (error) => error instanceof KubeRefusal && error.status === 422);
  const role = await ShippedRole.install(admin);
  const spec = definitions.get(forbidden.kind)?.["spec"] as { readonly names: { readonly plural: string } };
  const forbid = (): Promise<void> => role.without(spec.names.plural);
  await forbid();
  const present = [...needed, ...open, ...NATIVE_ROWS];
  for (const { good, odd } of [...present, forbidden]) {
    await onceServed(() => put(admin, good(0)));
    await put(admin, odd);
  }
  return { kube, role, present, forbidden, missing, install, forbid };
}

async function runOn(
  group: string,
  choices: Choices,
  progress: ScenarioOptions["progress"],
): Promise<{ readonly changes: number; readonly slowestMs: number }> {
  const { kube, role, present, forbidden, missing, install, forbid } = await breakCluster(group, choices);
  const { admin } = kube;
  progress(`${group}: ${forbidden.kind} may not be read; not there: ${missing.map(({ kind }) => kind).join(", ")}`);
  const startedMs = Date.now();
  const typha = await TyphaProcess.start({ kubeconfig: kube.kubeconfigFor("typha", role.token) });
  const { pid } = typha;
  const degraded = new DegradedCluster(kube, typha);
  const times: number[] = [];
  try {
    progress("1: what is not affected flows; what is wrong stands in words");
    times.push(await degraded.flows("beside a kind that may not be read", present));
    const notInSync = new RegExp(
      `${forbidden.kind} is not in sync: List failed: .*forbidden.*\\(DATASTORE_UNAUTHORIZED, since (\\S+)\\)`,
    );
    const notThere = /The server has no \w+ of (?:crd\.)?projectcalico\.org.*\(DATASTORE_NOT_FOUND, since \S+\)/;
    const words = await degraded.says("unready because of the forbidden kind", {
      ready: false,
      words: [notInSync, notThere, ...missing.map(({ kind }) => new RegExp(`\\b${kind}\\b.*: The server has no `))],
    });
    const since = Date.parse(notInSync.exec(words)?.[1] ?? "");
    assert.ok(since >= startedMs - SECOND_MS && since <= Date.now(), words);
    assert.deepEqual([...(await degraded.amiss("DATASTORE_UNAUTHORIZED")).keys()], [forbidden.kind]);
    // KubeVirt is not there either, which is as it should be on most clusters.
    const absent = [...missing.map(({ kind }) => kind), "LiveMigration"].sort();
    assert.deepEqual([...(await degraded.amiss("DATASTORE_NOT_FOUND")).keys()].sort(), absent);
    await degraded.namesMalformed(present, startedMs);
    assert.ok(!typha.statuses.includes("in-sync"), typha.statuses.join(", "));
    assert.equal(typha.state.has(forbidden.goodPath), false);
    await degraded.logged("Datastore kind is not in order", forbidden.kind);

    progress("2: the right is granted");
    await role.without();
    times.push(await degraded.flows("with all rights", [...present, forbidden]));
    await degraded.says("ready, and still told what is not there", { ready: true, words: [notThere] });
    await degraded.saysNoMore("not told any more of the forbidden kind", /DATASTORE_UNAUTHORIZED|not in sync/);
    assert.deepEqual((await degraded.amiss("DATASTORE_UNAUTHORIZED")).size, 0);
    await degraded.logged("Datastore kind is in order again", forbidden.kind);
    await typha.until("in sync for its clients", () => assert.equal(typha.statuses.at(-1), "in-sync"));
    await degraded.namesMalformed([...present, forbidden], startedMs);

    progress("3: the definitions are installed");
    for (const { kind } of missing) await install(kind);
    for (const { odd } of missing) await onceServed(() => put(admin, odd));
    const all = [...present, forbidden, ...missing];
    times.push(await degraded.flows("with all definitions", all));
    await degraded.saysNoMore("not told any more of what is not there", notThere);
    assert.deepEqual([...(await degraded.amiss("DATASTORE_NOT_FOUND")).keys()], ["LiveMigration"]);
    for (const { kind } of missing) await degraded.logged("Datastore kind is in order again", kind);
    await degraded.namesMalformed(all, startedMs);

    progress("4: the right is taken away while the kind is followed");
    const takenMs = Date.now();
    await forbid();
    // A watch goes on with the rights that it began with.
    await kube.apiserver.restart();
    const lost = new RegExp(`${forbidden.kind}\\b.*failed: .*\\(DATASTORE_UNAUTHORIZED, since (\\S+)\\)`);
    await typha.until("told that the kind may not be read any more", async () => {
      const { text } = await typha.readiness();
      const at = Date.parse(lost.exec(text)?.[1] ?? "");
      assert.ok(at >= takenMs - SECOND_MS && at <= Date.now(), text);
    });
    times.push(
      await degraded.flows(
        "after a right was lost",
        all.filter((row) => row !== forbidden),
      ),
    );
    await role.without();
    times.push(await degraded.flows("after the right came back", all));
    await degraded.saysNoMore("not told any more of the right", /DATASTORE_UNAUTHORIZED/);
    await degraded.says("ready again", { ready: true, words: [/in sync, \d+ keys/] });
    assert.deepEqual(typha.deleted, [], "Something was taken for deleted");

    progress("5: the malformed objects are mended");
    for (const { mended } of all) await put(admin, mended);
    await degraded.has(
      "in possession of the mended objects",
      all.flatMap((row) => [
        [row.mended, row.mendedPath] as const,
        [row.good(degraded.version), row.goodPath] as const,
      ]),
    );
    await degraded.namesMalformed([], startedMs);
    await degraded.saysNoMore("not told of malformed objects any more", /cannot be used as written/);
    assert.deepEqual((await typha.status()).problems, []);
    await degraded.loggedMalformed(all);
    const final = await degraded.says("ready", {
      ready: true,
      words: [/in sync, \d+ keys \(LiveMigration: [^;]*\)\s*$/m],
    });
    progress(final.trimEnd());
    assert.deepEqual(typha.deleted, [], "Something was taken for deleted");
    assert.ok(typha.isRunning && typha.pid === pid);
  } finally {
    await typha.stop();
    await kube.stop();
  }
  return { changes: degraded.changes, slowestMs: Math.max(...times) };
}

export const datastoreDegraded: Scenario = {
  name: "datastore-degraded",
  summary:
    "Definitions missing, a kind forbidden, an object of each kind malformed: the rest flows, and Typha says what is wrong",
  needsKube: true,
  run,
};
