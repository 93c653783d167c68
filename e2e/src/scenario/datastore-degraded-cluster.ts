import assert from "node:assert/strict";
import { convertResources } from "@bulrush/datastore";
import { applyDefaults, CALICO_CRD_V1, CALICO_V3, type Resource } from "@bulrush/model";
import { hashValue } from "@bulrush/proto";
import type { KubeObject } from "../kube/kube-admin.ts";
import type { KubeServer } from "../kube/kube-server.ts";
import type { TyphaProcess } from "../kube-driver/typha-process.ts";
import { contentsOf } from "../lab/contents.ts";
import { onceServed, put } from "./datastore-degraded-definitions.ts";
import type { Row } from "./datastore-degraded-objects.ts";

/** What is written to the second is up to one older than it says. */
export const SECOND_MS = 1000;

/** A cluster that is not well, a Typha on it, and the questions that are asked of both. Each waits for its answer. */
export class DegradedCluster {
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
        const name = nameOf(odd);
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

  /** The log has this message about this kind of the felix stream, with a reason and a time, and not over and over. */
  async logged(message: string, kind: string): Promise<void> {
    await this.#typha.until(`told of ${kind} in the log`, () => {
      const lines = this.#typha.log().filter((line) => line["syncer"] === "felix" && line["kind"] === kind);
      const found = lines.filter((line) => line["msg"] === message);
      assert.ok(found.length >= 1 && found.length <= 3, `${found.length} times "${message}"`);
      for (const { reason, since } of found) {
        assert.ok(typeof reason === "string" && reason !== "");
        assert.ok(!Number.isNaN(Date.parse(String(since))));
      }
    });
  }

  /** The log has named each malformed object with its fault, and said when it had none any more. */
  async loggedMalformed(rows: readonly Row[]): Promise<void> {
    await this.#typha.until("told of malformed objects in the log", () => {
      const lines = this.#typha.log();
      const named = lines.filter((line) => line["msg"] === "Stored data is not usable as written");
      const mended = lines.filter((line) => line["msg"] === "Stored data has no problem any more");
      for (const { kind, odd } of rows) {
        const name = nameOf(odd);
        assert.ok(
          named.some((line) => String(line["problem"]).startsWith(`${name}: `)),
          `nothing of ${name}`,
        );
        assert.ok(
          mended.some((line) => line["kind"] === kind),
          `${name} was never mended`,
        );
      }
    });
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

/** As problems name it. */
function nameOf({ kind, metadata: { namespace, name = "" } }: KubeObject): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}
