import { compareStrings } from "@bulrush/base";
import { Explainer, type FlowText, type KnownEnds, knownEnds, parseFlow, targetsOf } from "@bulrush/calc";
import { readKV, type Update, type Value } from "@bulrush/model";
import type { KV, ServerMessage } from "@bulrush/proto";
import type { AskedFlow, Explained, ExplainAnswer, LoadedSnapshot } from "./messages.ts";
import { listPolicies } from "./policy-list.ts";

/** The graph of all hosts on one snapshot of a Typha: the code that agents run, without a kernel. */
export class LoadedGraph {
  readonly #explainer = new Explainer();
  readonly #updates: Update[] = [];
  #ends: KnownEnds | undefined;
  #unknownKeys = 0;
  #sequence = 0;
  #status = "";

  /** A message of the snapshot, in its order. */
  take(message: ServerMessage): void {
    if (message.type === "snapshot") for (const kv of message.kvs) this.#add(kv);
    else if (message.type === "snapshot-end") this.#sequence = message.sequence;
    else if (message.type === "status") this.#status = message.status;
  }

  get keys(): number {
    return this.#updates.length;
  }

  /** After the last message. `epoch` and `atMs` (Unix ms) are handed on. */
  finish(epoch: string, atMs: number): LoadedSnapshot {
    this.#explainer.update(this.#updates);
    const { state } = this.#explainer;
    this.#ends = knownEnds(state, this.#updates);
    const workloads = new Set([...state.workloadEndpoints.values()].map(({ id }) => id.workload));
    return {
      epoch,
      sequence: this.#sequence,
      status: this.#status,
      keys: this.#updates.length,
      atMs,
      unknownKeys: this.#unknownKeys,
      tiers: listPolicies(this.#updates, state),
      ends: [...workloads].sort(compareStrings),
    };
  }

  explain(asked: AskedFlow): ExplainAnswer {
    const [from, to, protocol, port] = [asked.from, asked.to, asked.protocol, asked.port].map((text) => text.trim());
    const text: FlowText = { from, to, protocol, port };
    const targets = targetsOf(this.#updates, text);
    if ("problem" in targets) return { ok: false, problem: targets.problem };
    const answers: Explained[] = [];
    for (const target of targets.flows) {
      if (this.#ends === undefined) return { ok: false, problem: "There is no snapshot yet" };
      const parsed = parseFlow(target, this.#ends);
      if ("problem" in parsed) return { ok: false, problem: parsed.problem };
      try {
        const flow = { ...asked, to: String(target.to), port: String(target.port) };
        answers.push({ flow, verdict: this.#explainer.explain(parsed.flow, true) });
      } catch (error) {
        return { ok: false, problem: (error as Error).message };
      }
    }
    return { ok: true, answers };
  }

  #add({ path, value, revision, updateType }: KV): void {
    const read = readKV(path, value);
    if (read === undefined) {
      this.#unknownKeys++;
      return;
    }
    this.#updates.push({
      key: read.key,
      path: read.path,
      value: read.value as Value | undefined,
      revision,
      type: updateType,
    });
  }
}
