import type { Clock } from "@bulrush/base";
import { convertResources } from "@bulrush/datastore";
import { formatKey, type Resource } from "@bulrush/model";
import { type KubeAdmin, type KubeObject, KubeRefusal } from "../kube/kube-admin.ts";
import type { Choices } from "../random/choices.ts";
import type { Judge } from "./judge.ts";
import { type ChurnKind, type Counts, isNamespaced, makeObject, namespaceName } from "./objects.ts";
import { patiently } from "./patient.ts";

export interface WriterOptions {
  readonly admin: KubeAdmin;
  readonly clock: Clock;
  readonly choices: Choices;
  readonly judge: Judge;
  readonly counts: Counts;
}

/** Objects that change at the same time. */
const BATCH_PODS = 8;
const BATCH_OTHERS = 4;
/** Of an object that is there. */
const DELETE_CHANCE = 0.3;
/** Of a batch. */
const NAMESPACE_CHANCE = 0.3;
/** Requests at once while everything is made at the beginning. */
const FILL_CONCURRENCY = 16;

const CONFLICT = 409;
const ALREADY_THERE = "already exists";

interface Live {
  readonly kind: ChurnKind;
  readonly number: number;
  readonly object: KubeObject;
}

/**
 * Changes the objects of a cluster at random, and tells the judge of each change before it is begun. The only one who
 * writes. Each request is tried until it is done, so that after a batch the server holds what the judge was told.
 *
 * Invariant: `#live` is what the server holds of the writer's, except for what is being written.
 */
export class ChurnWriter {
  readonly #options: WriterOptions;
  readonly #live = new Map<string, Live>();
  /** Keys that an object gives, by kind and number: they do not depend on what may change. */
  readonly #paths = new Map<string, readonly string[]>();
  readonly #builtIn: ReadonlySet<string>;
  #mark = 0;
  #changes = 0;
  #namespacesGone = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#builtIn = new Set(convertResources([]).updates.map(({ path }) => path));
  }

  get changes(): number {
    return this.#changes;
  }

  /** Namespaces that were taken away with all that was in them. */
  get namespacesGone(): number {
    return this.#namespacesGone;
  }

  /** Makes everything there may be, namespaces first. */
  async fill(): Promise<void> {
    const { counts } = this.#options;
    for (const kind of Object.keys(counts) as ChurnKind[]) {
      const numbers = Array.from({ length: counts[kind] }, (_, number) => number);
      const work = async (): Promise<void> => {
        for (let number = numbers.pop(); number !== undefined; number = numbers.pop()) await this.#put(kind, number);
      };
      await Promise.all(Array.from({ length: FILL_CONCURRENCY }, work));
    }
  }

  /** A dozen objects change, come or go; sometimes a namespace does, with everything in it. */
  async batch(): Promise<void> {
    const { choices, counts } = this.#options;
    const kinds = (Object.keys(counts) as ChurnKind[]).filter((kind) => kind !== "Namespace");
    const chosen = new Map<string, () => Promise<void>>();
    for (let i = 0; i < BATCH_PODS + BATCH_OTHERS; i++) {
      const kind = i < BATCH_PODS ? "Pod" : choices.pick(kinds);
      const number = choices.below(counts[kind]);
      chosen.set(idOf(kind, number), () => this.#change(kind, number));
    }
    await Promise.all([...chosen.values()].map((change) => change()));
    if (choices.chance(NAMESPACE_CHANCE)) await this.#changeNamespace();
  }

  async #change(kind: ChurnKind, number: number): Promise<void> {
    const { choices, counts } = this.#options;
    if (isNamespaced(kind) && !this.#live.has(idOf("Namespace", number % counts.Namespace))) return;
    const isThere = this.#live.has(idOf(kind, number));
    if (isThere && choices.chance(DELETE_CHANCE)) await this.#remove(kind, number);
    else await this.#put(kind, number);
  }

  /** One that is missing comes back, one that is there changes or goes. */
  async #changeNamespace(): Promise<void> {
    const { choices, counts } = this.#options;
    const missing = Array.from({ length: counts.Namespace }, (_, number) => number).filter(
      (number) => !this.#live.has(idOf("Namespace", number)),
    );
    const number = missing.length > 0 && choices.chance(0.5) ? choices.pick(missing) : choices.below(counts.Namespace);
    const isThere = this.#live.has(idOf("Namespace", number));
    if (isThere && choices.chance(0.5)) await this.#removeNamespace(number);
    else await this.#put("Namespace", number);
  }

  async #put(kind: ChurnKind, number: number): Promise<void> {
    const { admin, clock, choices, counts, judge } = this.#options;
    const id = idOf(kind, number);
    const mark = ++this.#mark;
    const object = makeObject(kind, number, { mark, namespaces: counts.Namespace, choices });
    const isThere = this.#live.has(id);
    judge.willBe(this.#pathsOf(id, object), mark);
    this.#live.set(id, { kind, number, object });
    this.#changes++;
    const { status, ...rest } = object;
    // What may not change of a pod stays out.
    const { spec: _, ...changing } = rest as KubeObject;
    const patch = kind === "Pod" ? changing : rest;
    await patiently(clock, async () => {
      if (isThere || !(await create(admin, rest as KubeObject))) await admin.patch(object, patch);
    });
    if (status !== undefined && !isThere) await patiently(clock, () => admin.patch(object, { status }, "status"));
  }

  async #remove(kind: ChurnKind, number: number): Promise<void> {
    const { admin, clock, judge } = this.#options;
    const id = idOf(kind, number);
    const live = this.#live.get(id);
    if (live === undefined) return;
    judge.willGo(this.#pathsOf(id, live.object));
    this.#live.delete(id);
    this.#changes++;
    await patiently(clock, () => admin.delete(live.object));
  }

  /** As a cluster does it: it is marked as going, then what is in it goes, then it is let go. */
  async #removeNamespace(number: number): Promise<void> {
    const { admin, clock, judge } = this.#options;
    const id = idOf("Namespace", number);
    const live = this.#live.get(id);
    if (live === undefined) return;
    judge.willGo(this.#pathsOf(id, live.object));
    this.#live.delete(id);
    this.#changes++;
    this.#namespacesGone++;
    await patiently(clock, () => beginToRemove(admin, live.object));
    const name = namespaceName(number);
    const inside = [...this.#live.values()].filter(({ object }) => object.metadata.namespace === name);
    await Promise.all(inside.map((one) => this.#remove(one.kind, one.number)));
    const path = `/api/v1/namespaces/${name}/finalize`;
    await patiently(clock, async () => {
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: { finalizers: [] } };
      const answer = await admin.request("PUT", path, body);
      // The first try may have done it.
      const { details } = answer.body as { readonly details?: { readonly name?: string } };
      if (answer.status >= 300 && !(answer.status === 404 && details?.name === name))
        throw new KubeRefusal(`PUT ${path}`, answer);
    });
  }

  /** Of what the felix syncer tells, and of the kinds that only the others read. */
  #pathsOf(id: string, object: KubeObject): readonly string[] {
    let paths = this.#paths.get(id);
    if (paths !== undefined) return paths;
    const { kind, metadata } = object;
    const { name = "" } = metadata;
    switch (kind) {
      case "BGPFilter":
      case "CalicoNodeStatus":
        paths = [formatKey({ type: "Resource", kind, namespace: "", name })];
        break;
      case "BlockAffinity": {
        const { node, cidr } = object["spec"] as { readonly node: string; readonly cidr: string };
        paths = [formatKey({ type: "BlockAffinity", affinityType: "host", host: node, cidr })];
        break;
      }
      default: {
        const { updates } = convertResources([object as unknown as Resource]);
        paths = updates.map(({ path }) => path).filter((path) => !this.#builtIn.has(path));
      }
    }
    this.#paths.set(id, paths);
    return paths;
  }
}

function idOf(kind: ChurnKind, number: number): string {
  return `${kind} ${number}`;
}

/** False if it is there already: an earlier try did it. */
async function create(admin: KubeAdmin, object: KubeObject): Promise<boolean> {
  try {
    await admin.create(object);
    return true;
  } catch (error) {
    // Of a namespace that is going: it must be gone first.
    if (error instanceof KubeRefusal && error.status === CONFLICT && error.message.includes(ALREADY_THERE))
      return false;
    throw error;
  }
}

/** An earlier try may have done it. */
async function beginToRemove(admin: KubeAdmin, namespace: KubeObject): Promise<void> {
  try {
    await admin.delete(namespace);
  } catch (error) {
    if (!(error instanceof KubeRefusal && error.status === CONFLICT)) throw error;
  }
}
