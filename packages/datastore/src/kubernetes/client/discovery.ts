import { CALICO_CRD_V1, CALICO_V3, isObject } from "@bulrush/model";
import type { Clock } from "@bulrush/base";
import { datastoreCodeOf } from "../../errors.ts";
import type { CalicoGroupVersion } from "../kubernetes-config.ts";
import { abortable } from "./abortable.ts";
import type { KubeClient } from "./kube-client.ts";

/** What the server said about itself is not asked again for this long. */
const FRESH_MS = 5000;

interface Answer<T> {
  readonly value: Promise<T>;
  readonly atMs: number;
}

/**
 * What the API server serves. Questions that are asked at the same time, or shortly after one another, are one request.
 */
export class Discovery {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #chosen: CalicoGroupVersion | undefined;
  readonly #answers = new Map<string, Answer<unknown>>();
  #group: CalicoGroupVersion | undefined;

  /** @param signal Ends questions under way. @param chosen The group of Calico's kinds, where it is set. */
  constructor(client: KubeClient, signal: AbortSignal, chosen: CalicoGroupVersion | undefined) {
    this.#client = client;
    this.#clock = client.clock;
    this.#signal = signal;
    this.#chosen = chosen;
  }

  /**
   * Where Calico's kinds are: in `projectcalico.org/v3` where only that group is served, else in
   * `crd.projectcalico.org/v1`. A server that has neither yet is asked again. Throws when it does not answer.
   */
  async calicoGroup(signal: AbortSignal): Promise<CalicoGroupVersion> {
    const known = this.#chosen ?? this.#group;
    if (known !== undefined) return known;
    const groups = await this.#ask("/apis", groupsOf, signal);
    const [hasV1, hasV3] = ["crd.projectcalico.org", "projectcalico.org"].map((name) => groups?.has(name) === true);
    const group = hasV3 === true && hasV1 !== true ? CALICO_V3 : CALICO_CRD_V1;
    if (hasV1 === true || hasV3 === true) this.#group = group;
    return group;
  }

  /** The group may have changed: some of it was not there. */
  forgetGroup(): void {
    this.#group = undefined;
  }

  /** Whether a list is there; undefined if the server does not tell. Throws when it does not answer. */
  async serves(apiVersion: string, plural: string, signal: AbortSignal): Promise<boolean | undefined> {
    const path = apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
    const plurals = await this.#ask(path, pluralsOf, signal);
    return plurals?.has(plural);
  }

  /** True from Kubernetes 1.32 on, where lists can be streamed without asking for it at start-up. */
  async hasListStreams(signal: AbortSignal): Promise<boolean> {
    const version = await this.#ask("/version", (body) => (isObject(body) ? body : {}), signal);
    const number = (field: string): number => Number.parseInt(String(version?.[field]), 10);
    return number("major") > 1 || (number("major") === 1 && number("minor") >= 32);
  }

  /** Undefined where it is not allowed to ask; empty where the path is not there. */
  #ask<T>(path: string, read: (body: unknown) => T, signal: AbortSignal): Promise<T | undefined> {
    const known = this.#answers.get(path);
    const nowMs = this.#clock.monotonicMs();
    if (known !== undefined && nowMs - known.atMs < FRESH_MS)
      return abortable(known.value as Promise<T | undefined>, signal);
    const value = this.#request(path, read);
    const answer: Answer<T | undefined> = { value, atMs: nowMs };
    this.#answers.set(path, answer);
    // A failure is no answer.
    value.catch(() => {
      if (this.#answers.get(path) === answer) this.#answers.delete(path);
    });
    return abortable(value, signal);
  }

  async #request<T>(path: string, read: (body: unknown) => T): Promise<T | undefined> {
    try {
      return read(await this.#client.json({ op: `Look at ${path}`, path, signal: this.#signal }));
    } catch (error) {
      switch (datastoreCodeOf(error)) {
        case "DATASTORE_NOT_FOUND":
          return read({});
        case "DATASTORE_UNAUTHORIZED":
          return undefined;
        default:
          throw error;
      }
    }
  }
}

/** meta/v1 `APIGroupList`. */
function groupsOf(body: unknown): ReadonlySet<string> {
  return namesOf(body, "groups");
}

/** meta/v1 `APIResourceList`. */
function pluralsOf(body: unknown): ReadonlySet<string> {
  return namesOf(body, "resources");
}

function namesOf(body: unknown, field: string): ReadonlySet<string> {
  const entries: unknown = isObject(body) ? body[field] : undefined;
  const names = Array.isArray(entries) ? entries.map((entry: unknown) => (isObject(entry) ? entry["name"] : "")) : [];
  return new Set(names.filter((name) => typeof name === "string"));
}
