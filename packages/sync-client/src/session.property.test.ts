import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BucketDigests,
  bucketCountOf,
  bucketOf,
  type ClientMessage,
  hashValue,
  type Hello,
  type KV,
  type ServerMessage,
  type Welcome,
} from "@bulrush/proto";
import fc from "fast-check";
import { AckTracker } from "./ack-tracker.ts";
import { DedupeBuffer } from "./dedupe-buffer.ts";
import { Session, type SessionStream } from "./session.ts";

type State = ReadonlyMap<string, number>;

/** One change of the datastore; every server reads them in this order, at its own pace. */
interface Change {
  readonly path: string;
  readonly value: number | undefined;
}

function apply(state: State, { path, value }: Change): State {
  const next = new Map(state);
  if (value === undefined) next.delete(path);
  else next.set(path, value);
  return next;
}

function kvOf([path, value]: readonly [string, number | undefined]): KV {
  return { path, value, revision: "r", updateType: "unknown" };
}

/** A server as the protocol describes one, in a few lines: the state at each sequence, and what a hello gets. */
class ModelServer {
  epoch: string;
  /** State by sequence, from `first` on; what is before is forgotten. */
  readonly states: State[] = [new Map()];
  isInSync = false;
  #changes: (readonly Change[])[] = [[]];
  read = 0;

  constructor(epoch: string) {
    this.epoch = epoch;
  }

  get head(): number {
    return this.states.length - 1;
  }

  get state(): State {
    return this.states[this.head] as State;
  }

  /** Reads on in the datastore's log. It is in sync once it has read what was there when it began. */
  advance(log: readonly Change[], upTo: number): void {
    const changes = log.slice(this.read, upTo);
    this.read = Math.max(this.read, upTo);
    if (changes.length === 0) return;
    this.states.push(changes.reduce(apply, this.state));
    this.#changes.push(changes);
  }

  /** A new life: nothing is known, and nothing is in sync. */
  restart(epoch: string): void {
    this.epoch = epoch;
    this.states.splice(0, this.states.length, new Map());
    this.#changes = [[]];
    this.read = 0;
    this.isInSync = false;
  }

  answer({ resume, digests }: Hello): ServerMessage[] {
    const welcome = (more: Partial<Welcome>): Welcome => ({
      type: "welcome",
      version: 2,
      epoch: this.epoch,
      syncer: "felix",
      resume: "snapshot",
      sequence: this.head,
      connectionId: "k",
      serverName: "model",
      ...more,
    });
    if (resume !== undefined && resume.epoch === this.epoch && resume.sequence <= this.head)
      return [welcome({ resume: "deltas", sequence: resume.sequence }), ...this.deltas(resume.sequence), this.status()];
    const all = [...this.state].map(kvOf);
    if (digests === undefined) return [welcome({}), ...this.#snapshot(all), this.status()];
    const own = new BucketDigests();
    for (const [path, value] of this.state) own.add(path, hashValue(path, value));
    const buckets = own.differing(digests);
    const count = bucketCountOf(digests);
    const kvs = all.filter(({ path }) => buckets.includes(bucketOf(path, count)));
    return [welcome({ resume: "buckets", buckets }), ...this.#snapshot(kvs), this.status()];
  }

  deltas(from: number): ServerMessage[] {
    const messages: ServerMessage[] = [];
    for (let at = from; at < this.head; at++) {
      const kvs = (this.#changes[at + 1] ?? []).map(({ path, value }) => kvOf([path, value]));
      messages.push({ type: "delta", fromSequence: at, sequence: at + 1, kvs, seenAtMs: 1 });
    }
    return messages;
  }

  status(): ServerMessage {
    return { type: "status", sequence: this.head, status: this.isInSync ? "in-sync" : "resync" };
  }

  /** In chunks of three, so that a connection may break in between. */
  #snapshot(kvs: readonly KV[]): ServerMessage[] {
    const chunks: ServerMessage[] = [];
    for (let i = 0; i < kvs.length; i += 3) chunks.push({ type: "snapshot", kvs: kvs.slice(i, i + 3) });
    return [...chunks, { type: "snapshot-end", sequence: this.head, count: kvs.length }];
  }
}

/** The client's part without sockets, and what its consumer has been handed. */
class ModelClient {
  readonly stream: SessionStream = Object.assign(
    { buffer: new DedupeBuffer(), acks: new AckTracker(), position: undefined, isSuspect: false },
    { newestRevision: undefined },
  );
  readonly delivered = new Map<string, unknown>();
  deletes = 0;
  /** Messages of the present server that have not arrived. */
  #inFlight: ServerMessage[] = [];
  #session: Session | undefined;
  #server: ModelServer | undefined;
  #sentTo = 0;

  connect(server: ModelServer): void {
    let hello: ClientMessage | undefined;
    this.#session = new Session({
      stream: this.stream,
      syncer: "felix",
      hostname: "h",
      info: "i",
      clientId: "c",
      send: (message) => {
        if (message.type === "hello") hello = message;
      },
      onBeforeWelcome() {},
      onWelcome() {},
      onSnapshotEnd() {},
      onDelta() {},
      onPing() {},
      onGoodbye() {},
    });
    this.#session.start();
    assert.ok(hello?.type === "hello");
    this.#server = server;
    this.#inFlight = server.answer(hello);
    this.#sentTo = server.head;
  }

  /** The server sends what is new there; at most so many messages arrive. */
  receive(most: number): void {
    const server = this.#server;
    if (server === undefined) return;
    this.#inFlight.push(...server.deltas(this.#sentTo), server.status());
    this.#sentTo = server.head;
    for (const message of this.#inFlight.splice(0, most)) this.#session?.onMessage(message);
  }

  lose(): void {
    this.#server = undefined;
    this.#inFlight = [];
  }

  take(most: number): void {
    for (let i = 0; i < most; i++) {
      const step = this.stream.buffer.take(3);
      if (step === undefined) return;
      if (step.type === "control") continue;
      for (const { path, value, type } of step.updates) {
        assert.equal(type, value === undefined ? "deleted" : this.delivered.has(path) ? "updated" : "new");
        assert.notEqual(this.delivered.get(path), value, `${path} is handed over again as ${String(value)}`);
        if (value === undefined) {
          this.deletes++;
          this.delivered.delete(path);
        } else this.delivered.set(path, value);
      }
    }
  }
}

const IS_LONG = process.env["BULRUSH_LONG_TESTS"] === "1";
/** Enough for eight buckets. */
const PATHS = 64;
/** What is there before anything changes. */
const BEGINNING: readonly Change[] = Array.from({ length: PATHS }, (_, i) => ({
  path: `/calico/v1/config/${i}`,
  value: 1,
}));
const server = fc.nat(2);
const action = fc.oneof(
  fc.record({
    type: fc.constant("change" as const),
    path: fc.nat(PATHS - 1),
    value: fc.option(fc.nat(2), { nil: undefined }),
  }),
  fc.record({ type: fc.constant("read" as const), server, share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({ type: fc.constant("sync" as const), server }),
  fc.record({ type: fc.constant("restart" as const), server }),
  fc.record({ type: fc.constant("connect" as const), server }),
  fc.record({ type: fc.constant("receive" as const), most: fc.nat(6) }),
  fc.record({ type: fc.constant("lose" as const) }),
  fc.record({ type: fc.constant("take" as const), most: fc.nat(4) }),
);

test("whatever servers a client went through, it ends with what the last one in sync has, and sees each change once", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 120 }), (actions) => {
      const log: Change[] = [...BEGINNING];
      const servers = [0, 1, 2].map((n) => new ModelServer(`e${n}`));
      const at = (n: number): ModelServer => servers[n] as ModelServer;
      const client = new ModelClient();
      let life = 0;
      for (const one of actions) {
        if (one.type === "change") log.push({ path: `/calico/v1/config/${one.path}`, value: one.value });
        else if (one.type === "read") at(one.server).advance(log, Math.ceil(log.length * one.share));
        else if (one.type === "sync") {
          at(one.server).advance(log, log.length);
          at(one.server).isInSync = true;
        } else if (one.type === "restart") {
          client.lose();
          at(one.server).restart(`life-${++life}`);
        } else if (one.type === "connect") client.connect(at(one.server));
        else if (one.type === "receive") client.receive(one.most);
        else if (one.type === "lose") client.lose();
        else client.take(one.most);
      }
      const last = at(0);
      last.advance(log, log.length);
      last.isInSync = true;
      client.connect(last);
      client.receive(Infinity);
      client.take(Infinity);
      assert.deepEqual(client.delivered, last.state);
    }),
    { numRuns: IS_LONG ? 20_000 : 1000 },
  );
});

test("servers that are not in sync take nothing away, whatever they send and however often they change", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
      const log: Change[] = [...BEGINNING];
      const client = new ModelClient();
      const first = new ModelServer("first");
      first.advance(log, log.length);
      first.isInSync = true;
      client.connect(first);
      client.receive(Infinity);
      client.take(Infinity);
      assert.equal(client.delivered.size, PATHS);
      const servers = [0, 1, 2].map((n) => new ModelServer(`e${n}`));
      const at = (n: number): ModelServer => servers[n] as ModelServer;
      let life = 0;
      for (const one of actions) {
        if (one.type === "change") log.push({ path: `/calico/v1/config/${one.path}`, value: one.value });
        else if (one.type === "read") at(one.server).advance(log, Math.ceil(log.length * one.share));
        else if (one.type === "restart") {
          client.lose();
          at(one.server).restart(`life-${++life}`);
        } else if (one.type === "connect") client.connect(at(one.server));
        else if (one.type === "receive") client.receive(one.most);
        else if (one.type === "lose") client.lose();
        else if (one.type === "take") client.take(one.most);
      }
      client.take(Infinity);
      assert.equal(client.deletes, 0);
      assert.equal(client.delivered.size, PATHS);
    }),
    { numRuns: IS_LONG ? 20_000 : 1000 },
  );
});
