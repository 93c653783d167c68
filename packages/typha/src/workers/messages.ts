import type { AddressInfo } from "node:net";
import type { LogFields, LogLevel, MetricsSample } from "@bulrush/service";
import type { SyncStatus } from "@bulrush/model";
import type { Hello, SyncerType } from "@bulrush/proto";
import type { ClientView } from "../admin/views.ts";
import type { SharedBytes } from "../cache/shared-bytes.ts";
import type { ShedTarget } from "../limit/plan-shed.ts";
import type { Reached } from "../pipeline/reached-revision.ts";
import type { SyncServerSettings } from "../server/settings.ts";
import type { SyncTlsSettings } from "../server/tls-material.ts";

/** A breadcrumb on its way to another thread. */
export interface SharedCrumb {
  readonly sequence: number;
  readonly timestampMs: number;
  readonly seenAtMs: number;
  readonly status: SyncStatus;
  readonly kvCount: number;
  readonly endByte: number;
  readonly frame: SharedBytes;
}

/** A snapshot on its way to another thread. */
export interface SharedSnapshot {
  /** One per snapshot of a cache: by it a thread sees that two answers are the same one. */
  readonly id: number;
  readonly sequence: number;
  readonly memory: SharedArrayBuffer;
  /** Where each piece ends in the memory. */
  readonly ends: readonly number[];
  readonly count: number;
  readonly isPart: boolean;
}

/** What a worker is started with. */
export interface WorkerInit {
  /** From 1: for the log. */
  readonly number: number;
  readonly settings: SyncServerSettings;
  readonly streams: readonly {
    readonly syncer: SyncerType;
    readonly epoch: string;
    /** The oldest breadcrumb that is retained. */
    readonly first: SharedCrumb;
    readonly wasInSync: boolean;
  }[];
  /** Streams of each worker; see `SharedPlaces`. */
  readonly places: SharedArrayBuffer;
  /** Levels that are written anywhere. */
  readonly logLevels: readonly LogLevel[];
  /** Where it listens, once it is told to. */
  readonly host: string;
  readonly tls: SyncTlsSettings | undefined;
}

/** What a worker asks of the main thread, which answers each. */
export type WorkerQuestion =
  | { readonly type: "snapshot"; readonly syncer: SyncerType; readonly newest: boolean }
  | { readonly type: "difference"; readonly syncer: SyncerType; readonly digests: string }
  | { readonly type: "head"; readonly syncer: SyncerType }
  | { readonly type: "reached"; readonly syncer: SyncerType }
  | { readonly type: "load"; readonly reserve: string | undefined };

export interface SharedDifference {
  readonly buckets: readonly number[];
  readonly snapshot: SharedSnapshot;
}

/** By the type of the question. */
export interface WorkerAnswers {
  readonly snapshot: SharedSnapshot;
  readonly difference: SharedDifference | undefined;
  /** The newest sequence of the cache. */
  readonly head: number;
  readonly reached: Reached | undefined;
  readonly load: string;
}

/** What the main thread asks of a worker. */
export interface MainAnswers {
  readonly clients: readonly ClientView[];
  readonly propagation: ReadonlyMap<SyncerType, readonly number[]>;
}

/** An answer, by the number of its question. */
export type Answer =
  | { readonly type: "answer"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly reason: string };

/** From the main thread to a worker, in order. */
export type ToWorker =
  /** The next breadcrumbs of a stream. The next ones come after `took`. */
  | {
      readonly type: "crumbs";
      readonly syncer: SyncerType;
      readonly crumbs: readonly SharedCrumb[];
      /** Older breadcrumbs are not retained any more. */
      readonly oldestSequence: number;
      readonly wasInSync: boolean;
    }
  /** Each second: the ages of the streams' sources, and the servers to send clients to. */
  | {
      readonly type: "facts";
      readonly upstreamAgeMs: ReadonlyMap<SyncerType, number>;
      readonly targets: readonly ShedTarget[];
    }
  | Answer
  | { readonly type: "ask"; readonly id: number; readonly question: keyof MainAnswers }
  /** 0: any free port. */
  | { readonly type: "listen"; readonly port: number }
  | { readonly type: "superseded"; readonly connectionId: string }
  | {
      readonly type: "handOver";
      readonly connectionId: string;
      readonly reason: string;
      readonly peers: readonly string[];
    }
  /** A probe of the main thread comes from there. */
  | { readonly type: "probe"; readonly peer: string }
  | { readonly type: "stopListening" }
  | { readonly type: "drain" }
  | { readonly type: "close" };

/** A stream of a worker. */
export interface JoinedStream {
  readonly connectionId: string;
  readonly peer: string;
  readonly connectedAtMs: number;
  readonly hello: Pick<Hello, "syncer" | "hostname" | "clientId" | "info">;
}

/** From a worker to the main thread, in order. */
export type FromWorker =
  /** It has the breadcrumbs up to there, and takes more. */
  | { readonly type: "took"; readonly syncer: SyncerType; readonly sequence: number }
  | { readonly type: "fanOut"; readonly syncer: SyncerType; readonly durationMs: number }
  | { readonly type: "ask"; readonly id: number; readonly question: WorkerQuestion }
  /** So many answers with this snapshot are not needed any more. */
  | { readonly type: "release"; readonly syncer: SyncerType; readonly id: number; readonly answers: number }
  | Answer
  | { readonly type: "listening"; readonly address: AddressInfo }
  | { readonly type: "joined"; readonly stream: JoinedStream }
  | { readonly type: "left"; readonly connectionId: string }
  /** A client was told to go to that server. */
  | { readonly type: "sentTo"; readonly address: string }
  | { readonly type: "log"; readonly level: LogLevel; readonly message: string; readonly fields: LogFields }
  /** The probe from there has arrived. */
  | { readonly type: "probed"; readonly peer: string }
  /** Each second, and at once when it begins to listen. */
  | WorkerReport
  | { readonly type: "drained" };

export interface WorkerReport {
  readonly type: "report";
  readonly connections: number;
  /** Why nobody can connect here, in words; undefined: somebody can. */
  readonly problem: string | undefined;
  readonly notices: readonly string[];
  /** Share of the time since the last report in which its event loop was busy. */
  readonly utilization: number;
  readonly metrics: MetricsSample;
}
