import type { LabelMap } from "@bulrush/model";
import type { EventSequencer } from "../sequencer/event-sequencer.ts";

const NAMESPACE = { profile: "kns.", label: "pcns." };
const SERVICE_ACCOUNT = { profile: "ksa.", label: "pcsa." };

/**
 * Turns the profiles that stand for Kubernetes namespaces and service accounts back into those. Other profiles, and
 * names that are none, are passed over.
 */
export class ProfileDecoder {
  readonly #sequencer: EventSequencer;
  /** Profiles that were told. */
  readonly #known = new Set<string>();

  constructor(sequencer: EventSequencer) {
    this.#sequencer = sequencer;
  }

  /** `undefined` labels: the profile has gone. `changed`: they are not what they were. */
  setProfile(name: string, labels: LabelMap | undefined, changed: boolean): void {
    if (!name.startsWith(NAMESPACE.profile) && !name.startsWith(SERVICE_ACCOUNT.profile)) return;
    if (labels === undefined ? !this.#known.delete(name) : this.#known.has(name) && !changed) return;
    if (labels !== undefined) this.#known.add(name);
    if (name.startsWith(NAMESPACE.profile)) this.#setNamespace(name, labels);
    else this.#setServiceAccount(name, labels);
  }

  #setNamespace(profile: string, given: LabelMap | undefined): void {
    const id = profile.slice(NAMESPACE.profile.length);
    if (id === "") return;
    if (given === undefined) this.#sequencer.namespaces.remove(id, { msg: "NamespaceRemove", id });
    else {
      const labels = withoutPrefix(given, NAMESPACE.label);
      this.#sequencer.namespaces.update(id, { msg: "NamespaceUpdate", id, labels });
    }
  }

  #setServiceAccount(profile: string, given: LabelMap | undefined): void {
    const [namespace = "", ...rest] = profile.slice(SERVICE_ACCOUNT.profile.length).split(".");
    // A service account's name may have dots, a namespace's may not.
    const name = rest.join(".");
    if (namespace === "" || name === "") return;
    const id = { namespace, name };
    const table = this.#sequencer.serviceAccounts;
    if (given === undefined) table.remove(`${namespace}/${name}`, { msg: "ServiceAccountRemove", id });
    else {
      const labels = withoutPrefix(given, SERVICE_ACCOUNT.label);
      table.update(`${namespace}/${name}`, { msg: "ServiceAccountUpdate", id, labels });
    }
  }
}

function withoutPrefix(labels: LabelMap, prefix: string): LabelMap {
  const out = new Map<string, string>();
  for (const [name, value] of labels) out.set(name.startsWith(prefix) ? name.slice(prefix.length) : name, value);
  return out;
}
