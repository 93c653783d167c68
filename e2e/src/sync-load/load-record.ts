import type { BadWay } from "./load-plan.ts";
import { type HistogramData, LatencyHistogram } from "./latency-histogram.ts";

/** What the judged clients of a process came to. */
export interface JudgedFigures {
  readonly clients: number;
  readonly inSync: number;
  /** One entry for each different state, and how many have it. */
  readonly states: Readonly<Record<string, number>>;
  /** The most that one of them holds. */
  readonly keys: number;
  readonly updates: number;
  readonly deletes: number;
  /** Keys that were deleted and came back with the same contents: the delete was wrong. */
  readonly flaps: number;
  readonly connects: number;
  readonly snapshots: number;
  readonly bucketResumes: number;
  readonly resumes: number;
  readonly moves: number;
  readonly failures: number;
}

/** What a process reports; all of it since its start, but for `inSync`. */
export interface LoadReport {
  /** Light clients that are in sync now. */
  readonly inSync: number;
  /** From the server seeing a change to the client having it. */
  readonly latency: HistogramData;
  /** From the dial to in-sync. */
  readonly connect: HistogramData;
  readonly messages: number;
  readonly kvs: number;
  readonly bytes: number;
  /** Deltas that did not follow what the client had: a fault of the server. */
  readonly gaps: number;
  readonly dials: number;
  /** Why connections of light clients ended, each with how often. */
  readonly endings: Readonly<Record<string, number>>;
  /** The same of clients that misbehave. */
  readonly badEndings: Readonly<Partial<Record<BadWay, Readonly<Record<string, number>>>>>;
  readonly judged: JudgedFigures;
  readonly cpuMs: number;
  readonly rssMB: number;
}

/** Where light and bad clients count. */
export class LoadRecord {
  readonly latency: LatencyHistogram = new LatencyHistogram();
  readonly connect: LatencyHistogram = new LatencyHistogram();
  readonly endings: Record<string, number> = {};
  readonly badEndings: Partial<Record<BadWay, Record<string, number>>> = {};
  messages = 0;
  kvs = 0;
  bytes = 0;
  gaps = 0;
  dials = 0;

  countEnding(why: string): void {
    this.endings[why] = (this.endings[why] ?? 0) + 1;
  }

  countBadEnding(way: BadWay, why: string): void {
    const endings = (this.badEndings[way] ??= {});
    endings[why] = (endings[why] ?? 0) + 1;
  }
}
