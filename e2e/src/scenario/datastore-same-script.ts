import { compareStrings } from "@bulrush/base";
import { resourceIdOf } from "@bulrush/datastore";
import type { Resource } from "@bulrush/model";
import type { Choices } from "../random/choices.ts";
import { NAMESPACES } from "../random/vocabulary.ts";
import { makeNamespace, MAKERS } from "./datastore-same-kinds.ts";

/** One change of what all datastores hold. */
export interface Change {
  /** What it makes of the resource; undefined: it goes. */
  readonly now: Resource | undefined;
  /** What was there. */
  readonly before: Resource | undefined;
}

/**
 * A random script of creations, changes and deletions: the same choices, the same script.
 *
 * Invariant: `#held` is what a datastore holds that was given every change so far, by identity.
 */
export class SameScript {
  readonly #choices: Choices;
  readonly #held = new Map<string, Resource>();

  constructor(choices: Choices) {
    this.#choices = choices;
  }

  /** The namespaces that things live in, and one of each kind. */
  begin(): readonly Change[] {
    const namespaces = NAMESPACES.map((name) => this.#put(makeNamespace(this.#choices, name)));
    return [...namespaces, ...Object.values(MAKERS).map((make) => this.#put(make(this.#choices)))];
  }

  /** Up to `most` changes of different resources, which may be made in any order. */
  next(most: number): readonly Change[] {
    const changes = new Map<string, Change>();
    for (let i = this.#choices.between(1, most); i > 0; i--) {
      const before = new Map(this.#held);
      const change = this.#one();
      const id = identityOf((change.now ?? change.before) as Resource);
      if (changes.has(id)) restore(this.#held, before);
      else changes.set(id, change);
    }
    return [...changes.values()];
  }

  /** All that is there now. */
  get resources(): readonly Resource[] {
    return [...this.#held.values()];
  }

  #one(): Change {
    const choices = this.#choices;
    if (choices.chance(0.3)) {
      // Maps keep the order of insertion, which a change does not move.
      const removable = [...this.#held].filter(([, resource]) => !isNamespaceInUse(resource)).sort(byIdentity);
      const [id, before] = choices.pick(removable);
      this.#held.delete(id);
      return { now: undefined, before };
    }
    return this.#put(choices.pick(Object.values(MAKERS))(choices));
  }

  #put(made: Resource): Change {
    // As a file would hold it: without the fields that are undefined.
    const now = JSON.parse(JSON.stringify(made)) as Resource;
    const id = identityOf(now);
    const before = this.#held.get(id);
    this.#held.set(id, now);
    return { now, before };
  }
}

function identityOf(resource: Resource): string {
  const { apiVersion, kind, namespace, name } = resourceIdOf(resource);
  return `${apiVersion} ${kind} ${namespace}/${name}`;
}

function byIdentity([a]: readonly [string, Resource], [b]: readonly [string, Resource]): number {
  return compareStrings(a, b);
}

function restore(held: Map<string, Resource>, before: ReadonlyMap<string, Resource>): void {
  held.clear();
  for (const [id, resource] of before) held.set(id, resource);
}

function isNamespaceInUse({ apiVersion, kind, metadata }: Resource): boolean {
  return apiVersion === "v1" && kind === "Namespace" && NAMESPACES.some((name) => name === metadata.name);
}
