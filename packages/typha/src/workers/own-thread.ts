import type { AddressInfo } from "node:net";
import { SYNCER_TYPES } from "@bulrush/proto";
import { clientView } from "../admin/make-views.ts";
import type { ClientView } from "../admin/views.ts";
import type { BalancedStream } from "../limit/balancer.ts";
import { type ListenerOptions, SyncListener } from "../server/listener.ts";
import { SyncServer, type SyncServerOptions } from "../server/sync-server.ts";
import type { PropagationSamples, Serving } from "./serving.ts";

export interface OwnThreadOptions {
  readonly server: SyncServerOptions;
  readonly listener: Omit<ListenerOptions, "log" | "onAccepted" | "onRefused">;
}

/** Serves connections in this thread. */
export class OwnThread implements Serving {
  readonly listening: Promise<AddressInfo>;
  readonly server: SyncServer;
  readonly #options: OwnThreadOptions;
  readonly #listening: PromiseWithResolvers<AddressInfo> = Promise.withResolvers();
  #listener: SyncListener | undefined = undefined;

  constructor(options: OwnThreadOptions) {
    this.#options = options;
    this.listening = this.#listening.promise;
    this.server = new SyncServer(options.server);
  }

  /** `port`: default that of the options. */
  start(port: number = this.#options.listener.port): void {
    const { server } = this;
    this.#listener = new SyncListener({
      ...this.#options.listener,
      port,
      log: server.log,
      onAccepted: (transport, deadlineMs) => server.accept(transport, deadlineMs),
      onRefused: (transport, reason) => server.refuse(transport, "identity", reason),
    });
    void this.#listener.listening.then(this.#listening.resolve);
  }

  problem(): string | undefined {
    return this.#listener === undefined ? "not started" : this.#listener.problem();
  }

  notices(): readonly string[] {
    const problem = this.#listener?.certificateProblem();
    return problem === undefined ? [] : [`new certificates are not used: ${problem}`];
  }

  certificateExpiresAtMs(): number | undefined {
    return this.#listener?.certificateExpiresAtMs();
  }

  get connectionCount(): number {
    return this.server.connectionCount;
  }

  get streamCount(): number {
    return this.server.sessions().length;
  }

  streams(): readonly BalancedStream[] {
    return this.server.sessions().flatMap((session) => {
      const { hello, state, connectedAtMs, isLeaving } = session;
      if (hello === undefined || state !== "streaming" || isLeaving) return [];
      return {
        clientId: hello.clientId,
        type: hello.syncer,
        connectedAtMs,
        goodbye: (reason: string, peers: readonly string[]) => session.handOver(reason, peers),
      };
    });
  }

  clients(): readonly ClientView[] {
    const { server } = this;
    return server.sessions().flatMap((session) => clientView(session, server.isDuplicate(session)) ?? []);
  }

  propagation(): PropagationSamples {
    return new Map(SYNCER_TYPES.map((type) => [type, this.server.propagation(type).samples()]));
  }

  /** See `SyncListener.expectProbe`. */
  expectProbe(peer: string, onArrived: () => void): void {
    this.#listener?.expectProbe(peer, onArrived);
  }

  stopListening(): void {
    this.#listener?.close();
  }

  drain(): Promise<void> {
    return this.server.drain();
  }

  close(): void {
    this.#listener?.close();
    this.server.close();
  }
}
