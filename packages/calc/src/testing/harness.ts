import assert from "node:assert/strict";
import { formatKey, type Key, sameValue, type Update, type Value } from "@bulrush/model";
import { CalcGraph } from "../graph/calc-graph.ts";
import type { CalcGraphConfig } from "../graph/config.ts";
import type { CalcMessage } from "../graph/message.ts";
import type { ParametersOf } from "../passthrough/config-batcher.ts";
import { DataplaneState } from "../state/dataplane-state.ts";
import { type Normal, normalState } from "./normal-state.ts";

/** A key with its value, as a state lists them. */
export interface KV {
  readonly key: Key;
  readonly value: Value;
}

/** A state of the datastore, in the order in which its KVs are sent. */
export type State = readonly KV[];

/** When the graph is flushed. */
const FLUSH_STRATEGIES = ["each KV", "each KV twice", "each state", "end only"] as const;

export function update(key: Key, value: Value | undefined): Update {
  return { key, path: formatKey(key), value, revision: "1", type: value === undefined ? "deleted" : "updated" };
}

/** A graph with a dataplane that checks the order of what it gets. */
export class Rig {
  readonly state: DataplaneState = new DataplaneState();
  /** Messages of the last flush. */
  messages: CalcMessage[] = [];
  readonly graph: CalcGraph;
  #inSync = false;
  #current = new Map<string, { readonly key: Key; readonly value: Value }>();

  constructor(hostname: string = HOST, config: Partial<CalcGraphConfig> = {}, parametersOf?: ParametersOf) {
    const sink = (message: CalcMessage): void => {
      this.messages.push(message);
      if (!this.#inSync) {
        const early = ["WorkloadEndpointUpdate", "HostEndpointUpdate", "ConfigUpdate", "Encapsulation", "InSync"];
        assert.ok(!early.includes(message.msg), `${message.msg} came before the datastore was in sync`);
      }
      if (message.msg !== "DatastoreNotReady") this.state.apply(message);
    };
    this.graph = new CalcGraph({ hostname, sink, config, ...(parametersOf && { parametersOf }) });
  }

  inSync(): void {
    this.#inSync = true;
    this.graph.onStatusUpdated("in-sync");
  }

  flush(): void {
    this.messages = [];
    this.graph.flush();
  }

  /** Sends what leads from the present state to `next`: deletes first, then what is new or changed. */
  go(next: State, afterEach: () => void = () => undefined, times = 1): void {
    const wanted = new Map(next.map((kv) => [formatKey(kv.key), kv]));
    const updates: Update[] = [];
    for (const [path, { key }] of this.#current) if (!wanted.has(path)) updates.push(update(key, undefined));
    for (const [path, { key, value }] of wanted) {
      const known = this.#current.get(path);
      if (known === undefined || !sameValue(known.value, value)) updates.push(update(key, value));
    }
    this.#current = wanted;
    for (const one of updates)
      for (let i = 0; i < times; i++) {
        this.graph.onUpdates([one]);
        afterEach();
      }
  }

  get normal(): Normal {
    return normalState(this.state);
  }
}

export const HOST = "localhostname";

/** Every way to send the states that must not make a difference, by name. */
function expand(states: readonly State[]): [string, readonly State[]][] {
  const out: [string, readonly State[]][] = [
    ["as they are", states],
    ["KVs reversed", states.map((state) => [...state].reverse())],
    ["states reversed", [...states].reverse()],
    ["empty between", states.flatMap((state) => [state, []])],
    ["all squashed into one", [[...new Map(states.flat().map((kv) => [formatKey(kv.key), kv])).values()]]],
  ];
  for (const [i, state] of states.entries()) out.push([`state ${i} alone`, [state]]);
  return out;
}

/** The dataplane of a new graph that is given the state at once. */
export function freshState(state: State, config: Partial<CalcGraphConfig> = {}, hostname: string = HOST): Normal {
  const rig = new Rig(hostname, config);
  rig.go(state);
  rig.inSync();
  rig.flush();
  return rig.normal;
}

/**
 * Sends the states in every order and with every flush strategy, and compares the dataplane after each state (where it
 * is flushed) with that of a new graph, and `check` with it. So the outcome is the same whatever came before.
 */
export function runSequence(
  states: readonly State[],
  check: (state: State, actual: Normal) => void,
  config: Partial<CalcGraphConfig> = {},
): void {
  const fresh = new Map(states.map((state) => [state, freshState(state, config)]));
  for (const [state, normal] of fresh) check(state, normal);
  const empty = freshState([], config);
  const expected = (state: State): Normal =>
    state.length === 0 ? empty : (fresh.get(state) ?? freshState(state, config));
  for (const [order, sequence] of expand(states))
    for (const strategy of FLUSH_STRATEGIES)
      for (const syncFirst of [true, false]) {
        const rig = new Rig(HOST, config);
        const where = (i: number): string =>
          `${order}, flushed ${strategy}, in sync ${syncFirst ? "first" : "last"}, after state ${i}`;
        if (syncFirst) rig.inSync();
        for (const [i, state] of sequence.entries()) {
          const flush = (): void => rig.flush();
          if (strategy === "each KV") rig.go(state, flush);
          else if (strategy === "each KV twice") rig.go(state, flush, 2);
          else rig.go(state);
          if (strategy === "end only" || !syncFirst) continue;
          rig.flush();
          assert.deepEqual(rig.normal, expected(state), where(i));
          rig.flush();
          assert.deepEqual(rig.messages, [], `a second flush sent something: ${where(i)}`);
        }
        if (!syncFirst) rig.inSync();
        rig.flush();
        const last = sequence.at(-1);
        if (last !== undefined) assert.deepEqual(rig.normal, expected(last), where(sequence.length));
        rig.go([]);
        rig.flush();
        assert.deepEqual(rig.normal, empty, `${where(sequence.length)}, then emptied`);
      }
}
