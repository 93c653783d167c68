import type { Hello } from "@bulrush/proto";

/** A stream, by what its client said. */
interface Registered {
  readonly hello: Pick<Hello, "syncer" | "hostname" | "clientId"> | undefined;
}

/** What a new stream meets. */
interface Joined<Session> {
  /** Live streams of other clients under the same node name: two agents believe to be one node. */
  readonly duplicates: readonly Session[];
  /** Older streams of the same client: half open, as it has come back. */
  readonly superseded: readonly Session[];
}

/**
 * The streaming sessions, by syncer type and node name.
 *
 * Invariant: a session is in exactly one set of `#byName` and in `#byType`, from `add` to `remove`.
 */
export class ClientRegistry<Session extends Registered> {
  readonly #byName = new Map<string, Set<Session>>();
  readonly #byType = new Map<Hello["syncer"], Set<Session>>();
  readonly #duplicateNames = new Set<string>();
  #count = 0;

  /** Streams of all types. */
  get count(): number {
    return this.#count;
  }

  /** Node names with more than one client in one type. */
  get duplicateNames(): number {
    return this.#duplicateNames.size;
  }

  add(session: Session): Joined<Session> {
    const hello = session.hello;
    if (hello === undefined) return { duplicates: [], superseded: [] };
    const name = nameOf(session);
    const others = [...(this.#byName.get(name) ?? [])];
    setIn(this.#byName, name).add(session);
    setIn(this.#byType, hello.syncer).add(session);
    this.#count++;
    this.#judge(name);
    return {
      duplicates: others.filter((other) => other.hello?.clientId !== hello.clientId),
      superseded: others.filter((other) => other.hello?.clientId === hello.clientId),
    };
  }

  /** Does nothing when the session is not there. */
  remove(session: Session): void {
    const name = nameOf(session);
    const sameName = this.#byName.get(name);
    if (sameName?.delete(session) !== true) return;
    if (sameName.size === 0) this.#byName.delete(name);
    this.#count--;
    if (session.hello !== undefined) this.#byType.get(session.hello.syncer)?.delete(session);
    this.#judge(name);
  }

  ofType(type: Hello["syncer"]): ReadonlySet<Session> {
    return setIn(this.#byType, type);
  }

  all(): readonly Session[] {
    return [...this.#byType.values()].flatMap((sessions) => [...sessions]);
  }

  /** True when another live client uses this session's node name. */
  isDuplicate(session: Session): boolean {
    return this.#duplicateNames.has(nameOf(session)) && this.#byName.get(nameOf(session))?.has(session) === true;
  }

  #judge(name: string): void {
    const clients = new Set([...(this.#byName.get(name) ?? [])].map((session) => session.hello?.clientId));
    if (clients.size > 1) this.#duplicateNames.add(name);
    else this.#duplicateNames.delete(name);
  }
}

function nameOf({ hello }: Registered): string {
  return `${hello?.syncer ?? ""} ${hello?.hostname ?? ""}`;
}

function setIn<K, V>(map: Map<K, Set<V>>, key: K): Set<V> {
  let set = map.get(key);
  if (set === undefined) map.set(key, (set = new Set()));
  return set;
}
