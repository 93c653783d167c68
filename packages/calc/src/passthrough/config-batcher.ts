import { compareStrings } from "@bulrush/base";
import { type FelixConfigurationResource, type LabelMap, sameValue } from "@bulrush/model";
import { tryParseSelector } from "@bulrush/selector";
import type { EventSequencer } from "../sequencer/event-sequencer.ts";

/** The parameters that a FelixConfiguration sets, by name, as text. */
export type ParametersOf = (resource: FelixConfigurationResource) => ReadonlyMap<string, string>;

/**
 * Gathers the settings in the datastore: global ones, those of the FelixConfiguration that selects this node, and the
 * host's own, the later ones stronger. One message per flush, and only when something changed.
 *
 * Starts dirty and not ready: a datastore without a ready flag is not ready.
 */
export class ConfigBatcher {
  readonly #sequencer: EventSequencer;
  readonly #parametersOf: ParametersOf;
  readonly #global = new Map<string, string>();
  readonly #host = new Map<string, string>();
  readonly #scoped = new Map<string, FelixConfigurationResource>();
  #nodeLabels: LabelMap | undefined;
  #selected: ReadonlyMap<string, string> = new Map();
  #ready = false;
  #dirty = true;

  constructor(sequencer: EventSequencer, parametersOf: ParametersOf) {
    this.#sequencer = sequencer;
    this.#parametersOf = parametersOf;
  }

  setGlobal(name: string, value: string | undefined): void {
    this.#set(this.#global, name, value);
  }

  /** Of this host only. */
  setHost(name: string, value: string | undefined): void {
    this.#set(this.#host, name, value);
  }

  setReady(value: unknown): void {
    const ready = value === true;
    if (ready === this.#ready) return;
    this.#ready = ready;
    this.#dirty = true;
  }

  /** A FelixConfiguration with a node selector; `undefined` when it has gone. */
  setScoped(name: string, resource: FelixConfigurationResource | undefined): void {
    if (resource === undefined) this.#scoped.delete(name);
    else this.#scoped.set(name, resource);
    this.#reselect();
  }

  /** The labels of this node; `undefined` while it is not known. */
  setNodeLabels(labels: LabelMap | undefined): void {
    this.#nodeLabels = labels;
    this.#reselect();
  }

  /** Only once the datastore was in sync. */
  flush(): void {
    if (!this.#dirty) return;
    this.#dirty = false;
    if (!this.#ready) this.#sequencer.onDatastoreNotReady();
    const sources = new Map<string, ReadonlyMap<string, string>>([
      ["global", new Map(this.#global)],
      ["selector", this.#selected],
      ["host", new Map(this.#host)],
    ]);
    const config = new Map<string, string>();
    for (const source of sources.values()) for (const [name, value] of source) config.set(name, value);
    this.#sequencer.onConfig({ msg: "ConfigUpdate", config, source_to_raw_config: sources });
  }

  #set(map: Map<string, string>, name: string, value: string | undefined): void {
    if (map.get(name) === value) return;
    if (value === undefined) map.delete(name);
    else map.set(name, value);
    this.#dirty = true;
  }

  #reselect(): void {
    const chosen = this.#choose();
    const selected = chosen === undefined ? new Map<string, string>() : this.#parametersOf(chosen);
    if (sameValue(selected, this.#selected)) return;
    this.#selected = selected;
    this.#dirty = true;
  }

  /** The oldest that selects this node, of equally old ones the first by name. */
  #choose(): FelixConfigurationResource | undefined {
    const labels = this.#nodeLabels;
    if (labels === undefined) return undefined;
    const fitting = [...this.#scoped.values()].filter((resource) => {
      const text = resource.spec?.nodeSelector ?? "";
      if (text === "") return false;
      const parsed = tryParseSelector(text);
      return parsed.ok && parsed.selector.evaluate(labels);
    });
    fitting.sort((a, b) => {
      const [x, y] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
      return compareStrings(x, y) || compareStrings(a.metadata.name, b.metadata.name);
    });
    return fitting[0];
  }
}
