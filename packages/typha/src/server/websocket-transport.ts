import type { Socket } from "node:net";
import { type RawData, type ServerOptions, WebSocket, WebSocketServer } from "ws";
import { CLIENT_MESSAGE_LIMITS, SYNC_SUBPROTOCOL } from "@bulrush/proto";
import type { Breach, Transport, TransportHandlers } from "./transport.ts";
import type { UpgradeRequest } from "./upgrade-head.ts";

/** After our close frame, how long the peer may take to answer. */
const CLOSE_TIMEOUT_MS = 2000;

/** RFC 6455 section 7.4.1: message too big; and what a receiver reports of other broken rules. */
const CLOSE_TOO_BIG = 1009;
const CLOSE_PROTOCOL_ERRORS: ReadonlySet<number> = new Set([1002, 1003, 1007, 1008]);

/**
 * A websocket that lets its owner put in a last frame when the receiver gives up on the peer. `ws` reports a breach by
 * closing first and telling afterwards, when our word can no longer be sent.
 */
class SyncSocket extends WebSocket {
  onBreach: ((breach: Breach, code: number) => void) | undefined = undefined;

  override close(code?: number, data?: string | Buffer): void {
    const breach =
      code === CLOSE_TOO_BIG ? "message-too-big" : CLOSE_PROTOCOL_ERRORS.has(code ?? 0) ? "bad-message" : undefined;
    const { onBreach } = this;
    this.onBreach = undefined;
    // The code of the peer's own close frame is sent back: what it says of us is no breach of its own.
    const isAnswer = (this as { readonly _closeFrameReceived?: boolean })._closeFrameReceived === true;
    if (breach !== undefined && !isAnswer && this.readyState === WebSocket.OPEN) onBreach?.(breach, code ?? 0);
    super.close(code, data);
  }
}

/** Turns sockets with a good upgrade request into transports. One per server; holds no connections itself. */
export interface WebsocketUpgrader {
  /**
   * Answers the upgrade and gives the transport, or answers with an HTTP error and gives nothing. `rest` is what came
   * after the request's head.
   */
  upgrade(request: UpgradeRequest, socket: Socket, rest: Buffer, peer: string): Transport | undefined;
}

export function createWebsocketUpgrader(): WebsocketUpgrader {
  const options: ServerOptions<typeof SyncSocket> & Readonly<Record<string, unknown>> = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // What a client may send, and no more, whatever its number of fragments.
    maxPayload: CLIENT_MESSAGE_LIMITS.maxFrameBytes,
    maxFragments: 64,
    maxBufferedChunks: 1024,
    maxPendingAutoPongs: 4,
    closeTimeout: CLOSE_TIMEOUT_MS,
    handleProtocols: (offered) => (offered.has(SYNC_SUBPROTOCOL) ? SYNC_SUBPROTOCOL : false),
    WebSocket: SyncSocket,
  };
  const server = new WebSocketServer(options);
  return {
    upgrade(request, socket, rest, peer) {
      let transport: Transport | undefined;
      server.handleUpgrade(request as never, socket, rest, (websocket) => {
        transport = new WebsocketTransport(websocket, socket, peer);
      });
      return transport;
    },
  };
}

/**
 * Frames go to the socket itself and not through `ws.send`: header and payload are one Buffer already, shared by all
 * clients. `ws` reads, and sends its own control frames between ours.
 */
class WebsocketTransport implements Transport {
  readonly peer: string;
  readonly #websocket: SyncSocket;
  readonly #socket: Socket;

  constructor(websocket: SyncSocket, socket: Socket, peer: string) {
    this.#websocket = websocket;
    this.#socket = socket;
    this.peer = peer;
  }

  start(handlers: TransportHandlers): void {
    const websocket = this.#websocket;
    websocket.onBreach = (breach, code) => {
      const frame = handlers.onBreach(breach, `websocket error ${code}`);
      if (frame !== undefined) this.#socket.write(frame);
    };
    websocket.on("message", (data: RawData, binary: boolean) => handlers.onMessage(data as Buffer, binary));
    websocket.on("ping", () => handlers.onControl());
    websocket.on("close", () => handlers.onClose());
    // The close comes after it, and says all that there is to say.
    websocket.on("error", () => {});
  }

  write(frames: readonly Buffer[], done: () => void): void {
    const socket = this.#socket;
    const [first] = frames;
    if (frames.length === 1 && first !== undefined) {
      socket.write(first, done);
      return;
    }
    const last = frames.length - 1;
    socket.cork();
    for (let i = 0; i < last; i++) socket.write(frames[i] as Buffer);
    socket.write(frames[last] as Buffer, done);
    socket.uncork();
  }

  end(frame: Buffer, closeCode: number): void {
    this.#websocket.onBreach = undefined;
    this.#socket.write(frame);
    this.#websocket.close(closeCode);
  }

  destroy(): void {
    this.#websocket.terminate();
  }
}
