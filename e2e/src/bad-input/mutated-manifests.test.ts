import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type CommandIo, main } from "@bulrush/ctl";
import { convertResources, loadManifests } from "@bulrush/datastore";
import { type Resource, type Update, validateResource } from "@bulrush/model";
import { decodeServerMessage, encodeMessage, ProtoError } from "@bulrush/proto";
import { Judge } from "../lab/judge.ts";
import { allFlows } from "../lab/matrix.ts";
import { planLab } from "../lab/plan.ts";
import { loadSemanticsCases } from "../semantics/case.ts";
import { mutationsOf, seededRandom } from "./mutate.ts";

const IS_LONG: boolean = process.env["BULRUSH_LONG_TESTS"] === "1";
const SEED: number = IS_LONG ? Date.now() % 1_000_000 : 1;
const TESTDATA: string = join(import.meta.dirname, "..", "..", "testdata");

async function* streamOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function read(text: string): Promise<readonly Resource[]> {
  const { resources } = await loadManifests("-", { stdin: streamOf(text) });
  return resources.map(({ resource }) => resource);
}

const WORLD: readonly Resource[] = await read(readFileSync(join(TESTDATA, "semantics", "world.yaml"), "utf8"));
const HOSTNAME: string = WORLD.find(({ kind }) => kind === "Node")?.metadata.name ?? "";
const SAMPLES: readonly Resource[] = await read(readFileSync(join(TESTDATA, "bad-input", "samples.yaml"), "utf8"));

/** Onto the wire, and off it again. */
function sendAndReceive(updates: readonly Update[]): void {
  for (const { path, value, revision } of updates) {
    let frame: Buffer;
    try {
      frame = encodeMessage({ type: "snapshot", kvs: [{ path, value, revision, updateType: "new" }] });
    } catch (error) {
      // Typha leaves it out, and names it.
      assert.ok(error instanceof ProtoError, String(error));
      continue;
    }
    decodeServerMessage(frame);
  }
}

const SILENT: CommandIo["out"] = {
  write: () => Promise.resolve(),
  flush: () => Promise.resolve(),
  terminal: false,
  style: (_style, text) => text,
};

/** Through the graph and into a ruleset. Throws where that trips. */
async function render(resources: readonly Resource[]): Promise<void> {
  const stdin = streamOf(JSON.stringify({ apiVersion: "v1", kind: "List", items: resources }));
  await main(["render", "-f", "-", "--hostname", HOSTNAME], { out: SILENT, err: SILENT, stdin, env: {} });
}

test(`no odd value anywhere in any kind stops the pipe (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  let count = 0;
  for (const { resource, name } of mutationsOf([...SAMPLES, ...WORLD], "", IS_LONG ? 1 : 0.05, random)) {
    try {
      for (const readable of await read(JSON.stringify(resource))) {
        validateResource(readable);
        sendAndReceive(convertResources([readable]).updates);
      }
      await render([...WORLD, resource]);
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).stack}`);
    }
    count++;
  }
  assert.ok(count > 300, `${count} mutations`);
});

/** Verdict of each flow between the pods, by name. */
function verdictsOf(resources: readonly Resource[]): {
  readonly verdicts: ReadonlyMap<string, string>;
  readonly unreadable: ReadonlySet<string>;
} {
  const { updates, problems } = convertResources(resources);
  const judge = new Judge();
  judge.update(updates);
  const flows = allFlows(planLab(resources, updates).pods);
  return {
    verdicts: new Map(
      flows.map((flow) => [
        `${flow.from.name} -> ${flow.to.name} ${flow.protocol}/${flow.port}`,
        judge.explainPodFlow(flow).verdict,
      ]),
    ),
    unreadable: new Set(problems.filter(({ severity }) => severity === "error").map(({ name }) => name ?? "")),
  };
}

test(`no policy of which something cannot be read lets through what the whole one stops (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  let count = 0;
  for (const { name: caseName, manifests, reportsProblems } of loadSemanticsCases()) {
    if (reportsProblems) continue;
    const resources: Resource[] = [];
    for (const file of manifests) resources.push(...(await read(readFileSync(file, "utf8"))));
    // A cluster policy that its API does not know is none: what its rules are worth is said there.
    const policies = resources.filter(
      ({ apiVersion, kind }) => kind.endsWith("NetworkPolicy") && !apiVersion.startsWith("policy."),
    );
    const whole = verdictsOf(resources);
    for (const { of, resource, name } of mutationsOf(policies, "spec", IS_LONG ? 0.5 : 0.012, random)) {
      const [readable] = await read(JSON.stringify(resource));
      assert.ok(readable !== undefined, `${caseName}: ${name}: nothing is left of it`);
      const { verdicts, unreadable } = verdictsOf([...resources.filter((other) => other !== of), readable]);
      if (!unreadable.has(of.metadata.name)) continue;
      count++;
      for (const [flow, verdict] of verdicts)
        assert.ok(verdict === "deny" || whole.verdicts.get(flow) === "allow", `${caseName}: ${name}: opens ${flow}`);
    }
  }
  assert.ok(count > 60, `${count} mutations that cannot be read`);
});
