import assert from "node:assert/strict";
import { seededRandom, sleep, systemClock } from "@bulrush/base";
import { convertResources, type DatastoreDriver, openDatastore } from "@bulrush/datastore";
import { applyDefaults, CALICO_V3, plainValue, type Resource } from "@bulrush/model";
import { contentsOf } from "../lab/contents.ts";
import { LabNetwork } from "../lab/network.ts";
import { Choices } from "../random/choices.ts";
import { NAMESPACES } from "../random/vocabulary.ts";
import { DIFFERENCES, expectedIn, type State, withoutOwn } from "./datastore-same-modes.ts";
import { SameScript } from "./datastore-same-script.ts";
import { CLUSTER, type SameStore, startStores } from "./datastore-same-stores.ts";
import { differencesOf, View, VIEW_TYPES, type ViewType, viewName } from "./datastore-same-view.ts";
import type { Scenario, ScenarioFigures, ScenarioOptions } from "./scenario.ts";

const CLOCK = systemClock({ keepAlive: true });
const NEVER = new AbortController().signal;
/** Resources that change at the same time. */
const BATCH = 4;
const CHECK_EVERY = 25;
/** A watch of what is missing (KubeVirt's kinds) and a server that starts take some seconds. */
const SETTLE_MS = 90_000;
const QUICK_STEPS = 75;
const STEPS = 1000;

/** A store and what its syncers told so far. */
interface Followed {
  readonly store: SameStore;
  readonly views: readonly View[];
  readonly stop: () => Promise<void>;
}

function follow(store: SameStore, driver: DatastoreDriver): Followed {
  const views = VIEW_TYPES.map((type) => new View(driver, CLOCK, type));
  const stop = async (): Promise<void> => {
    for (const view of views) await view.stop();
  };
  return { store, views, stop };
}

/** By new syncers on a new driver: they list what the others were told change by change. */
async function followAnew(store: SameStore): Promise<Followed> {
  const driver = await openDatastore(store.config, { clock: CLOCK });
  const { views, stop } = follow(store, driver);
  return { store, views, stop: () => stop().then(() => driver.close()) };
}

/** What new syncers make of the whole directory. */
async function referenceOf(file: SameStore): Promise<readonly State[]> {
  const { views, stop } = await followAnew(file);
  await until(() => views.every(({ isInSync }) => isInSync));
  await stop();
  return views.map(({ state }) => state);
}

/** Kinds of the script that only other syncers tell. */
const NOT_OF_FELIX: ReadonlySet<string> = new Set(["BGPFilter", "BlockAffinity", "CalicoNodeStatus"]);
const INFORMATION: Resource = {
  apiVersion: CALICO_V3,
  kind: "ClusterInformation",
  metadata: { name: "default" },
  spec: { ...CLUSTER, datastoreReady: true },
};

/** What the felix syncer must tell of these resources in a directory. */
function felixStateOf(resources: readonly Resource[]): State {
  const known = resources.filter(({ kind }) => !NOT_OF_FELIX.has(kind));
  const { updates } = convertResources(known.map(applyDefaults));
  return new Map(updates.map(({ path, value }) => [path, contentsOf(value && plainValue(value))]));
}

async function until(isSo: () => boolean): Promise<boolean> {
  for (const startMs = performance.now(); performance.now() - startMs < SETTLE_MS; ) {
    if (isSo()) return true;
    await sleep(CLOCK, 50, NEVER);
  }
  return isSo();
}

async function run({ seed, quick, steps, progress }: ScenarioOptions): Promise<ScenarioFigures> {
  progress(`seed ${seed}`);
  const network = new LabNetwork();
  const { stores, file, interrupt, stop } = await startStores();
  const script = new SameScript(new Choices(seededRandom(seed)));
  const followed = stores.map((store) => follow(store, store.driver));
  const used = new Set<(typeof DIFFERENCES)[number]>();
  let keys = 0;
  const check = async (step: number, all: readonly Followed[]): Promise<void> => {
    const reference = await referenceOf(file);
    const missing = differencesOf(reference[0] as State, felixStateOf([...script.resources, INFORMATION]));
    assert.deepEqual(missing, [], `The directory is not what was written after step ${step} (seed ${seed})`);
    const differences = (): string[] =>
      all.flatMap(({ store, views }) =>
        views.flatMap((view, i) => {
          const expected = expectedIn(store.mode, reference[i] as State, used);
          const found = differencesOf(withoutOwn(store.mode, view.state), expected);
          const says = view.isInSync ? found : ["is not in sync", ...found];
          return says.map((text) => `${store.name}, ${viewName(VIEW_TYPES[i] as ViewType)}: ${text}`);
        }),
      );
    await until(() => differences().length === 0);
    assert.deepEqual(differences().slice(0, 10), [], `The datastores differ after step ${step} (seed ${seed})`);
    keys = reference.reduce((sum, state) => sum + state.size, 0);
    progress(
      `step ${step}: ${script.resources.length} resources, ${keys} keys of ${reference.length} syncers are the same`,
    );
  };
  const play = async (changes: Parameters<SameStore["play"]>[0]): Promise<void> => {
    await Promise.all(stores.map((store) => store.play(changes)));
  };
  // Kubernetes takes nothing into a namespace that is not there.
  const begin = script.begin();
  await play(begin.slice(0, NAMESPACES.length));
  await play(begin.slice(NAMESPACES.length));
  await check(0, followed);
  const count = steps ?? (quick ? QUICK_STEPS : STEPS);
  let changes = 0;
  for (let step = 1; step <= count; step++) {
    const next = script.next(BATCH);
    changes += next.length;
    await play(next);
    if (step === Math.floor(count / 2)) {
      progress(`step ${step}: the servers go away`);
      await interrupt();
    }
    if (step % CHECK_EVERY === 0 || step === count) await check(step, followed);
  }
  const anew = await Promise.all(stores.map(followAnew));
  await check(count, anew);
  const unused = DIFFERENCES.filter((one) => !used.has(one)).map(({ reason }) => reason);
  assert.deepEqual(unused, [], "What is said to differ never did");
  for (const one of [...followed, ...anew]) await one.stop();
  await stop();
  network.close();
  return { seed, steps: count, changes, stores: stores.length, syncers: VIEW_TYPES.length, keys };
}

export const datastoreSame: Scenario = {
  name: "datastore-same",
  summary: "One random script in a directory, etcd and both groups of a real API server: every syncer gives the same",
  needsKube: true,
  run,
};
