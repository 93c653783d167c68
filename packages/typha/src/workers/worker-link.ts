import { must, unreachable } from "@bulrush/base";
import type { SyncerType } from "@bulrush/proto";
import type { LogFields, LogLevel } from "@bulrush/service";
import type { AddressInfo } from "node:net";
import type { SnapshotCache } from "../cache/snapshot-cache.ts";
import type { Reached } from "../pipeline/reached-revision.ts";
import type {
  FromWorker,
  JoinedStream,
  MainAnswers,
  ToWorker,
  WorkerAnswers,
  WorkerInit,
  WorkerQuestion,
  WorkerReport,
} from "./messages.ts";
import { answerQuestion, Questions } from "./questions.ts";
import type { SharedSnapshots } from "./shared-snapshots.ts";
import { StreamFeed } from "./stream-feed.ts";

/** What a worker's messages mean to the main thread. */
export interface LinkHandlers {
  reached(syncer: SyncerType): Reached | undefined;
  /** As JSON. */
  load(reserve: string | undefined): string;
  /** All mirrors hold what there was at the start: it may be told to listen. Once. */
  onCaughtUp(): void;
  onListening(address: AddressInfo): void;
  onReport(report: WorkerReport): void;
  onJoined(stream: JoinedStream): void;
  onLeft(connectionId: string): void;
  onFanOut(syncer: SyncerType, durationMs: number): void;
  onSentTo(address: string): void;
  onLog(level: LogLevel, message: string, fields: LogFields): void;
  onProbed(peer: string): void;
  onDrained(): void;
}

/** The main thread's side of one worker, from its start to its end. */
export class WorkerLink {
  readonly #handlers: LinkHandlers;
  readonly #post: (message: ToWorker) => void;
  readonly #feeds: ReadonlyMap<SyncerType, StreamFeed>;
  readonly #questions: Questions<keyof MainAnswers>;
  #isCaughtUp = false;
  #isClosed = false;

  /** `post` may be called once `start` is. */
  constructor(
    caches: readonly SnapshotCache[],
    snapshots: SharedSnapshots,
    post: (message: ToWorker) => void,
    handlers: LinkHandlers,
  ) {
    this.#handlers = handlers;
    this.#post = (message) => {
      if (!this.#isClosed) post(message);
    };
    this.#feeds = new Map(caches.map((cache) => [cache.syncer, new StreamFeed(cache, snapshots, this.#post)]));
    this.#questions = new Questions((id, question) => this.#post({ type: "ask", id, question }));
  }

  /** What the worker is started with, of the streams. Before `start`, with nothing published in between. */
  get streams(): WorkerInit["streams"] {
    return [...this.#feeds.values()].map(({ init }) => init);
  }

  /** The worker takes messages. */
  start(): void {
    for (const feed of this.#feeds.values()) feed.pump();
    this.#lookWhetherCaughtUp();
  }

  /** Of all streams. */
  get backlogBytes(): number {
    return Math.max(...[...this.#feeds.values()].map((feed) => feed.backlogBytes));
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  post(message: ToWorker): void {
    this.#post(message);
  }

  /** Rejects when the worker ends. */
  async ask<Q extends keyof MainAnswers>(question: Q): Promise<MainAnswers[Q]> {
    return (await this.#questions.ask(question)) as MainAnswers[Q];
  }

  /** The worker has ended. */
  close(): void {
    this.#isClosed = true;
    for (const feed of this.#feeds.values()) feed.close();
    this.#questions.close(new Error("The connection worker has ended"));
  }

  onMessage(message: FromWorker): void {
    if (this.#isClosed) return;
    const handlers = this.#handlers;
    switch (message.type) {
      case "took":
        this.#feed(message.syncer).took(message.sequence);
        this.#lookWhetherCaughtUp();
        return;
      case "fanOut":
        handlers.onFanOut(message.syncer, message.durationMs);
        return;
      case "ask":
        void answerQuestion(message.id, () => this.#answer(message.question), this.#post);
        return;
      case "release":
        this.#feed(message.syncer).release(message.id, message.answers);
        return;
      case "answer":
      case "failed":
        this.#questions.onAnswer(message);
        return;
      case "listening":
        handlers.onListening(message.address);
        return;
      case "joined":
        handlers.onJoined(message.stream);
        return;
      case "left":
        handlers.onLeft(message.connectionId);
        return;
      case "sentTo":
        handlers.onSentTo(message.address);
        return;
      case "log":
        handlers.onLog(message.level, message.message, message.fields);
        return;
      case "probed":
        handlers.onProbed(message.peer);
        return;
      case "report":
        handlers.onReport(message);
        return;
      case "drained":
        handlers.onDrained();
        return;
      default:
        unreachable(message);
    }
  }

  #answer(question: WorkerQuestion): WorkerAnswers[keyof WorkerAnswers] | Promise<WorkerAnswers[keyof WorkerAnswers]> {
    switch (question.type) {
      case "snapshot":
        return this.#feed(question.syncer).snapshot(question.newest);
      case "difference":
        return this.#feed(question.syncer).difference(question.digests);
      case "head":
        return this.#feed(question.syncer).cache.head.sequence;
      case "reached":
        return this.#handlers.reached(question.syncer);
      case "load":
        return this.#handlers.load(question.reserve);
      default:
        return unreachable(question);
    }
  }

  #feed(syncer: SyncerType): StreamFeed {
    return must(this.#feeds.get(syncer), "the feed of a stream");
  }

  #lookWhetherCaughtUp(): void {
    if (this.#isCaughtUp || ![...this.#feeds.values()].every((feed) => feed.isCaughtUp)) return;
    this.#isCaughtUp = true;
    this.#handlers.onCaughtUp();
  }
}
