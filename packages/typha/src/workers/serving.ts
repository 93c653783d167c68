import type { AddressInfo } from "node:net";
import type { SyncerType } from "@bulrush/proto";
import type { ClientView } from "../admin/views.ts";
import type { BalancedStream } from "../limit/balancer.ts";

/** Who accepts connections and serves their streams: the main thread itself, or worker threads. */
export interface Serving {
  /** Resolves when the sync port is open. */
  readonly listening: Promise<AddressInfo>;
  /** Once. */
  start(): void;
  /** Why nobody can connect, in words; undefined: somebody can. */
  problem(): string | undefined;
  /** What an operator should see to, though clients are served. */
  notices(): readonly string[];
  /** End of the server certificate's life, Unix ms; undefined without TLS. */
  certificateExpiresAtMs(): number | undefined;
  /** Websockets, those without a hello included. */
  readonly connectionCount: number;
  readonly streamCount: number;
  /** Those that may be handed over. */
  streams(): readonly BalancedStream[];
  /** Each stream, without the server's sequence. May fail: a list that is not whole would say that all is well. */
  clients(): Promise<readonly ClientView[]> | readonly ClientView[];
  /** The newest propagation times of each type, in ms. May fail. */
  propagation(): Promise<PropagationSamples> | PropagationSamples;
  /** Takes nobody new. */
  stopListening(): void;
  /** Goodbyes to everybody; resolves when the last one is gone. */
  drain(): Promise<void>;
  /** Cuts what is left. */
  close(): Promise<void> | void;
}

export type PropagationSamples = ReadonlyMap<SyncerType, readonly number[]>;
