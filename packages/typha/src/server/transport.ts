/** How a peer broke the rules of the websocket itself, before any message of ours could be read. */
export type Breach = "message-too-big" | "bad-message";

/** What a client session does with what comes from its transport. Calls come one at a time. */
export interface TransportHandlers {
  /** One whole message. `bytes` may be read until the call returns. */
  onMessage(bytes: Uint8Array, binary: boolean): void;
  /** A websocket ping has come, and is answered. */
  onControl(): void;
  /** The peer broke the websocket's rules. The frame that is returned is sent before the close. */
  onBreach(breach: Breach, detail: string): Buffer | undefined;
  /** The connection is gone; comes once, last. */
  onClose(): void;
}

/**
 * A connection after its handshakes, as a session sees it: whole frames out, whole messages in.
 *
 * The session: calls `start` once, at once; has at most one `write` in flight; writes nothing after `end`.
 * The transport: keeps order; calls nothing before `start` has returned.
 */
export interface Transport {
  /** "10.0.0.7:41234": for logs and lists. */
  readonly peer: string;
  start(handlers: TransportHandlers): void;
  /** Writes whole websocket frames as one piece. `done` comes once the kernel has all of it, never synchronously. */
  write(frames: readonly Buffer[], done: () => void): void;
  /** Sends a last frame, then closes in order; cut after a short while if the peer does not play along. */
  end(frame: Buffer, closeCode: number): void;
  /** Cuts the connection now. */
  destroy(): void;
}
