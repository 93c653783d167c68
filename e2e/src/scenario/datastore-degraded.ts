import assert from "node:assert/strict";
import { seededRandom } from "@bulrush/base";
import { convertResources } from "@bulrush/datastore";
import { applyDefaults, CALICO_CRD_V1, CALICO_V3, type Resource } from "@bulrush/model";
import { hashValue } from "@bulrush/proto";
import type { KubeObject } from "../kube/kube-admin.ts";
import { KubeServer } from "../kube/kube-server.ts";
import { ShippedRole } from "../kube-driver/shipped-role.ts";
import { TyphaProcess } from "../kube-driver/typha-process.ts";
import { contentsOf } from "../lab/contents.ts";
import { LabNetwork } from "../lab/network.ts";
import { Choices } from "../random/choices.ts";
import { onceServed, openDefinitions, put } from "./datastore-degraded-definitions.ts";
import { calicoRows, NAMESPACE, NATIVE_ROWS, type Row } from "./datastore-degraded-objects.ts";
import type { Scenario, ScenarioFigures, ScenarioOptions } from "./scenario.ts";

/** Kinds that the felix stream does not have. */
const OF_OTHER_STREAMS = ["BGPFilter", "BlockAffinity", "CalicoNodeStatus"] as const;

/** What is written to the second is up to one older than it says. */
const SECOND_MS = 1000;

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
class DegradedCluster {
  readonly #kube: KubeServer;
  readonly #typha: TyphaProcess;
  /** Of the well-formed objects. */
  version = 0;
  changes = 0;

  constructor(kube: KubeServer, typha: TyphaProcess) {
    this.#kube = kube;
    this.#typha = typha;
  }

  /** A change of the well-formed object of each row arrives. The slowest in milliseconds. */
  async flows(what: string, rows: readonly Row[]): Promise<number> {
    const { state } = this.#typha;
    const version = ++this.version;
    const before = rows.map(({ goodPath }) => JSON.stringify(state.get(goodPath)));
    const startMs = performance.now();
    for (const row of rows) await onceServed(() => put(this.#kube.admin, row.good(version)));
    await this.#typha.until(`${what}: a change of each of ${rows.length} kinds there`, () => {
      const late = rows.filter(({ goodPath }, i) => (JSON.stringify(state.get(goodPath)) ?? before[i]) === before[i]);
      assert.deepEqual(
        late.map(({ kind }) => kind),
        [],
      );
    });
    this.changes += rows.length;
    return Math.round(performance.now() - startMs);
  }

  /** Readiness is so, and says so in words; those of the last look. */
  async says(what: string, wanted: { readonly ready: boolean; readonly words: readonly RegExp[] }): Promise<string> {
    let words = "";
    await this.#typha.until(what, async () => {
      const { ready, text } = await this.#typha.readiness();
      words = text;
      for (const word of wanted.words) assert.match(text, word);
      assert.equal(ready, wanted.ready, text);
    });
    return words;
  }

  /** The readiness does not say this any more. */
  async saysNoMore(what: string, word: RegExp): Promise<void> {
    await this.#typha.until(what, async () => {
      assert.doesNotMatch((await this.#typha.readiness()).text, word);
    });
  }

  /** Kinds with this code, and since when they have not been in order, by the metrics. */
  async amiss(code: string): Promise<ReadonlyMap<string, number>> {
    const lines = await this.#typha.metrics('bulrush_typha_kind_amiss_since_timestamp_seconds{syncer="felix"');
    const found = lines.map((line) => /kind="(\w+)",code="(\w+)"\} (\S+)/.exec(line) ?? []);
    return new Map(found.flatMap(([, kind = "", of, at]) => (of === code ? [[kind, Number(at) * 1000]] : [])));
  }

  /** How many objects of which kinds are said to be of no use. */
  async unusable(): Promise<readonly string[]> {
    const lines = await this.#typha.metrics('bulrush_typha_unusable_objects{syncer="felix"');
    return lines.flatMap((line) => {
      const [, kind = "", count] = /kind="(\w+)"\} (\d+)/.exec(line) ?? [];
      return Number(count) > 0 ? [`${kind} ${count}`] : [];
    });
  }

  /** The malformed object of each row, and nothing else, is said to be of no use: in the words, the metrics, the list. */
  async namesMalformed(rows: readonly Row[], notBeforeMs: number): Promise<void> {
    await this.#typha.until("told of the malformed objects", async () => {
      assert.deepEqual([...(await this.unusable())].sort(), rows.map(({ kind }) => `${kind} 1`).sort());
      const { text } = await this.#typha.readiness();
      const { problems } = await this.#typha.status();
      for (const { kind, odd } of rows) {
        const name = `${odd.kind} ${odd.metadata.namespace === undefined ? "" : `${NAMESPACE}/`}${odd.metadata.name}`;
        const [, since = ""] =
          new RegExp(`1 of ${kind} cannot be used as written \\(since (\\S+)\\): ${name}:`).exec(text) ?? [];
        assert.ok(Date.parse(since) >= notBeforeMs - SECOND_MS && Date.parse(since) <= Date.now(), `${kind}: ${text}`);
        assert.ok(
          problems.some((line) => line.startsWith(`${name}: `) && / \(since \S+Z\)$/.test(line)),
          `${name}: ${problems.join("\n")}`,
        );
      }
    });
  }

  /** The log has this message about this kind of the felix stream, and not over and over. */
  logged(message: string, kind: string): void {
    const lines = this.#typha
      .log()
      .filter(({ syncer, msg, kind: of }) => syncer === "felix" && msg === message && of === kind);
    assert.ok(lines.length >= 1 && lines.length <= 3, `${lines.length} times "${message}" of ${kind}`);
    for (const { reason, since } of lines) {
      assert.ok(typeof reason === "string" && reason !== "");
      assert.ok(!Number.isNaN(Date.parse(String(since))));
    }
  }

  /** The state has exactly what the datastore's own conversion makes of these objects. */
  async has(what: string, objects: readonly (readonly [object: KubeObject, path: string])[]): Promise<void> {
    const resources = objects.map(([object]) => {
      const isCalico = object.apiVersion === CALICO_CRD_V1;
      return applyDefaults({ ...object, ...(isCalico && { apiVersion: CALICO_V3 }) } as unknown as Resource);
    });
    const { updates } = convertResources(resources);
    const wanted = new Map(updates.map(({ path, value }) => [path, value]));
    await this.#typha.until(what, () => {
      for (const [, path] of objects) {
        const value = this.#typha.state.get(path);
        assert.ok(value !== undefined, `missing ${path}`);
        const isSame = hashValue(path, contentsOf(value)) === hashValue(path, contentsOf(wanted.get(path)));
        assert.ok(isSame, `${path} is ${JSON.stringify(value)}, not ${JSON.stringify(wanted.get(path))}`);
      }
    });
  }
}

async function run({ seed, quick, progress }: ScenarioOptions): Promise<ScenarioFigures> {
  const network = new LabNetwork();
  const groups = quick ? [seed % 2 === 1 ? CALICO_CRD_V1 : CALICO_V3] : [CALICO_CRD_V1, CALICO_V3];
  let [changes, slowestMs] = [0, 0];
  for (const group of groups) {
    const figures = await runOn(group, new Choices(seededRandom(seed)), progress, seed);
    changes += figures.changes;
    slowestMs = Math.max(slowestMs, figures.slowestMs);
  }
  network.close();
  return { seed, groups: groups.join(" "), kinds: calicoRows("").length + NATIVE_ROWS.length, changes, slowestMs };
}

async function runOn(
  group: string,
  choices: Choices,
  progress: ScenarioOptions["progress"],
  seed: number,
): Promise<{ readonly changes: number; readonly slowestMs: number }> {
  const rows = calicoRows(group);
  const clusterInformation = rows.find(({ kind }) => kind === "ClusterInformation");
  assert.ok(clusterInformation !== undefined);
  const rest = rows.filter((row) => row !== clusterInformation);
  const others = choices.some(rest, rest.length, rest.length);
  const missing = others.slice(0, 7);
  const [forbidden, ...open] = others.slice(7);
  assert.ok(forbidden !== undefined);
  progress(
    `${group}, seed ${seed}: ${forbidden.kind} may not be read; not there: ${missing.map(({ kind }) => kind).join(", ")}`,
  );
  const present = [clusterInformation, ...open, ...NATIVE_ROWS];
  const kube = await KubeServer.start();
  const { admin } = kube;
  const definitions = await openDefinitions(admin, group.split("/")[0] ?? "");
  const install = (kind: string): Promise<KubeObject> => admin.create(definitions.get(kind) ?? assert.fail(kind));
  for (const { kind } of [clusterInformation, forbidden, ...open]) await install(kind);
  for (const kind of OF_OTHER_STREAMS) await install(kind);
  const cluster = await openDefinitions(admin, "policy.networking.k8s.io");
  await admin.create(cluster.get("ClusterNetworkPolicy") ?? assert.fail("ClusterNetworkPolicy"));
  await admin.createNamespace(NAMESPACE);
  await admin.create({ apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
  const role = await ShippedRole.install(admin);
  const plural = pluralOf(definitions, forbidden.kind);
  await role.without(plural);
  for (const { good, odd } of [...present, forbidden]) {
    await onceServed(() => put(admin, good(0)));
    await put(admin, odd);
  }

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
    assert.notEqual(typha.statuses.at(-1), "in-sync");
    assert.equal(typha.state.has(forbidden.goodPath), false);
    degraded.logged("Datastore kind is not in order", forbidden.kind);

    progress("2: the right is granted");
    await role.without();
    times.push(await degraded.flows("with all rights", [...present, forbidden]));
    await degraded.says("ready, and still told what is not there", { ready: true, words: [notThere] });
    await degraded.saysNoMore("not told any more of the forbidden kind", /DATASTORE_UNAUTHORIZED|not in sync/);
    assert.deepEqual((await degraded.amiss("DATASTORE_UNAUTHORIZED")).size, 0);
    degraded.logged("Datastore kind is in order again", forbidden.kind);
    await typha.until("in sync for its clients", () => assert.equal(typha.statuses.at(-1), "in-sync"));
    await degraded.namesMalformed([...present, forbidden], startedMs);

    progress("3: the definitions are installed");
    for (const { kind } of missing) await install(kind);
    for (const { odd } of missing) await onceServed(() => put(admin, odd));
    const all = [...present, forbidden, ...missing];
    times.push(await degraded.flows("with all definitions", all));
    await degraded.saysNoMore("not told any more of what is not there", notThere);
    assert.deepEqual([...(await degraded.amiss("DATASTORE_NOT_FOUND")).keys()], ["LiveMigration"]);
    for (const { kind } of missing) degraded.logged("Datastore kind is in order again", kind);
    await degraded.namesMalformed(all, startedMs);

    progress("4: the right is taken away while the kind is followed");
    const takenMs = Date.now();
    await role.without(plural);
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

function pluralOf(definitions: ReadonlyMap<string, KubeObject>, kind: string): string {
  const spec = definitions.get(kind)?.["spec"] as { readonly names: { readonly plural: string } };
  return spec.names.plural;
}

export const datastoreDegraded: Scenario = {
  name: "datastore-degraded",
  summary:
    "Definitions missing, a kind forbidden, an object of each kind malformed: the rest flows, and Typha says what is wrong",
  needsKube: true,
  run,
};
