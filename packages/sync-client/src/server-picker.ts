import { formatServerAddress, type ServerAddress } from "./server-address.ts";

/** How many servers that a goodbye named are remembered. */
const MAX_HINTS = 64;
/** A server that is not listed any more is forgotten after this long. */
const FORGET_AFTER_MS = 5 * 60_000;

export type Pick =
  | { readonly type: "server"; readonly address: ServerAddress }
  /** Every known server asked not to be dialled before then. */
  | { readonly type: "wait"; readonly waitMs: number }
  | { readonly type: "none" };

interface Memory {
  /** Tried since the last success. */
  isTried: boolean;
  notBeforeMs: number;
  usedAtMs: number;
}

/**
 * Chooses the next server to dial among those not tried since the last success: the first that a goodbye named; else one of
 * the client's own node; else another. Once all were tried they count as untried again, the last one last. Random among
 * equals, so that clients spread. A server that asked for a pause gets it. Pure: time and randomness are handed in.
 */
export class ServerPicker {
  readonly #random: () => number;
  readonly #nodeName: string | undefined;
  readonly #memory = new Map<string, Memory>();
  #hints: ServerAddress[] = [];
  #last: string | undefined;

  constructor(options: { readonly random: () => number; readonly nodeName?: string | undefined }) {
    this.#random = options.random;
    this.#nodeName = options.nodeName;
  }

  /** `except`: servers that are in use. */
  next(listed: readonly ServerAddress[], nowMs: number, except: readonly ServerAddress[] = []): Pick {
    this.#forget(listed, nowMs);
    const excepted = new Set(except.map(formatServerAddress));
    const isFree = (address: ServerAddress): boolean => !excepted.has(formatServerAddress(address));
    const ready = (address: ServerAddress): boolean => isFree(address) && this.#of(address, nowMs).notBeforeMs <= nowMs;
    const isUntried = (address: ServerAddress): boolean => !this.#of(address, nowMs).isTried;
    const hint = this.#hints.find((address) => ready(address) && isUntried(address));
    if (hint !== undefined) return this.#use(hint, nowMs);
    const free = listed.filter(isFree);
    if (free.length === 0) return { type: "none" };
    const candidates = free.filter(ready);
    if (candidates.length === 0) {
      const soonest = Math.min(...free.map((address) => this.#of(address, nowMs).notBeforeMs));
      return { type: "wait", waitMs: soonest - nowMs };
    }
    let untried = candidates.filter(isUntried);
    if (untried.length === 0) {
      for (const memory of this.#memory.values()) memory.isTried = false;
      untried = candidates.length > 1 ? candidates.filter((c) => formatServerAddress(c) !== this.#last) : candidates;
    }
    const local = untried.filter(({ nodeName }) => nodeName !== undefined && nodeName === this.#nodeName);
    const address = this.#choose(local) ?? this.#choose(untried);
    return address === undefined ? { type: "none" } : this.#use(address, nowMs);
  }

  /** True while a server of the list has not been tried since the last success. */
  hasUntried(listed: readonly ServerAddress[], nowMs: number): boolean {
    return [...this.#hints, ...listed].some((address) => !this.#of(address, nowMs).isTried);
  }

  /** The server asks not to be dialled for a while. */
  pause(address: ServerAddress, untilMs: number, nowMs: number): void {
    this.#of(address, nowMs).notBeforeMs = untilMs;
  }

  /** Servers that a goodbye or reject named: to be tried next, in this order. */
  hint(addresses: readonly ServerAddress[]): void {
    this.#hints = addresses.slice(0, MAX_HINTS);
  }

  /** The stream of this server has lived and is lost: every other one may be tried, and comes first. */
  succeeded(address: ServerAddress, nowMs: number): void {
    this.#hints = [];
    for (const memory of this.#memory.values()) memory.isTried = false;
    this.#of(address, nowMs).isTried = true;
  }

  #use(address: ServerAddress, nowMs: number): Pick {
    const name = formatServerAddress(address);
    const memory = this.#of(address, nowMs);
    memory.isTried = true;
    memory.usedAtMs = nowMs;
    this.#last = name;
    this.#hints = this.#hints.filter((hint) => formatServerAddress(hint) !== name);
    return { type: "server", address };
  }

  #choose(addresses: readonly ServerAddress[]): ServerAddress | undefined {
    return addresses[Math.floor(this.#random() * addresses.length)];
  }

  #of(address: ServerAddress, nowMs: number): Memory {
    const name = formatServerAddress(address);
    let memory = this.#memory.get(name);
    if (memory === undefined) {
      memory = { isTried: false, notBeforeMs: 0, usedAtMs: nowMs };
      this.#memory.set(name, memory);
    }
    return memory;
  }

  #forget(listed: readonly ServerAddress[], nowMs: number): void {
    const names = new Set(listed.map(formatServerAddress));
    for (const [name, memory] of this.#memory)
      if (!names.has(name) && nowMs - memory.usedAtMs > FORGET_AFTER_MS && memory.notBeforeMs <= nowMs)
        this.#memory.delete(name);
  }
}
