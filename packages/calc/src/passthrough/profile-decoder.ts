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

  constructor(sequencer: EventSequencer) {
    this.#sequencer = sequencer;
  }

  /** A profile came or has other labels; `undefined`: it has gone. */
  setProfile(name: string, labels: LabelMap | undefined): void {
    if (name.startsWith(NAMESPACE.profile)) this.#setNamespace(name, labels);
    else if (name.startsWith(SERVICE_ACCOUNT.profile)) this.#setServiceAccount(name, labels);
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
