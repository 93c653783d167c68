import type { Clock } from "@bulrush/base";
import type { Delta, Ping, ServerMessage, SyncerType, Welcome } from "@bulrush/proto";
import { Connection } from "./connection.ts";
import type { SyncClientError } from "./errors.ts";
import type { ServerAddress } from "./server-address.ts";
import { Session, type SessionStream } from "./session.ts";
import type { TLSMaterial } from "./tls.ts";

export interface LinkOptions {
  readonly address: ServerAddress;
  readonly tls: TLSMaterial | undefined;
  readonly clock: Clock;
  readonly dialTimeoutMs: number;
  readonly readTimeoutMs: number;
  readonly writeTimeoutMs: number;
  readonly stream: SessionStream;
  readonly syncer: SyncerType;
  readonly hostname: string;
  readonly info: string;
  readonly clientId: string;
  /** Just before the hello, which says what is held: that must not change until the welcome. */
  onHello(): void;
  /** The server would take us. Throws if it is not to be followed; then nothing has changed. */
  admit(welcome: Welcome): void;
  /** This is the server that is followed from here on. */
  onWelcome(welcome: Welcome): void;
  onSnapshotEnd(): void;
  onDelta(delta: Delta): void;
  onPing(ping: Ping): void;
  onGoodbye(): void;
  /** After each message. */
  onReceived(message: ServerMessage): void;
  /** Once, last of all, unless `close` was called. */
  onLost(error: Error): void;
}

/** A connection and the protocol on it, from the dial on. Nothing is called from the constructor. */
export class Link {
  readonly address: ServerAddress;
  readonly #options: LinkOptions;
  readonly #connection: Connection;
  #goodbye: SyncClientError | undefined;
  #streamingSinceMs: number | undefined;
  #openSinceMs: number | undefined;

  constructor(options: LinkOptions) {
    const { address, clock } = options;
    this.address = address;
    this.#options = options;
    const session = new Session({
      ...options,
      send: (message) => connection.send(message),
      onBeforeWelcome: (welcome) => options.admit(welcome),
      onWelcome: (welcome) => {
        connection.expectPings(welcome.pingIntervalMs ?? 0);
        if (welcome.resume === "deltas") this.#streamingSinceMs = clock.monotonicMs();
        options.onWelcome(welcome);
      },
      onSnapshotEnd: () => {
        this.#streamingSinceMs = clock.monotonicMs();
        options.onSnapshotEnd();
      },
      onGoodbye: (error) => {
        this.#goodbye = error;
        options.onGoodbye();
      },
    });
    const connection = new Connection({
      ...options,
      onOpen: () => {
        this.#openSinceMs = clock.monotonicMs();
        options.onHello();
        session.start();
      },
      onMessage: (message) => {
        session.onMessage(message);
        options.onReceived(message);
      },
      // What the server said is why it closed.
      onLost: (error) => options.onLost(this.#goodbye ?? error),
    });
    this.#connection = connection;
  }

  /** What the server said when it asked us to leave. */
  get goodbye(): SyncClientError | undefined {
    return this.#goodbye;
  }

  /** How long the stream has lived; undefined before it began. */
  livedMs(): number | undefined {
    return this.#streamingSinceMs === undefined
      ? undefined
      : this.#options.clock.monotonicMs() - this.#streamingSinceMs;
  }

  answeredMs(): number | undefined {
    return this.#openSinceMs === undefined ? undefined : this.#options.clock.monotonicMs() - this.#openSinceMs;
  }

  ack(sequence: number): void {
    this.#connection.send({ type: "ack", sequence });
  }

  pause(): void {
    this.#connection.pause();
  }

  resume(): void {
    this.#connection.resume();
  }

  /** Nothing of this server is taken in until `release`. */
  hold(): void {
    this.#connection.hold();
  }

  release(): void {
    this.#connection.release();
  }

  /** Ends it; `onLost` is not called. */
  close(): void {
    this.#connection.close();
  }
}
