import type { Socket } from "node:net";
import type { Transport } from "./transport.ts";
import { formatHttpAnswer, formatHttpError, readUpgradeHead } from "./upgrade-head.ts";
import type { WebsocketUpgrader } from "./websocket-transport.ts";

/** Exactly one of these is called. */
export interface UpgradeHandlers {
  onUpgraded(transport: Transport): void;
  /** The request was answered with an HTTP error; the connection closes. */
  onFailed(reason: string): void;
  /** The peer closed before it had sent a request, or after it was told the load. */
  onLeft(): void;
  /** The load of this server for another one, as JSON; undefined: this peer is not told. Never rejects. */
  load(reserve: string | undefined): string | undefined | Promise<string | undefined>;
}

/** Reads the HTTP request of a fresh connection and makes a websocket of it. The caller bounds the time. */
export function receiveUpgrade(
  socket: Socket,
  upgrader: WebsocketUpgrader,
  peer: string,
  handlers: UpgradeHandlers,
): void {
  let received: Buffer = Buffer.alloc(0);
  const finish = (): void => {
    socket.off("data", onData);
    socket.off("close", onClose);
  };
  const onData = (chunk: Buffer): void => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const head = readUpgradeHead(received);
    if (head.state === "more") return;
    if (head.state === "load") {
      socket.off("data", onData);
      const load = handlers.load(head.reserve);
      if (load instanceof Promise) void load.then((late) => tellLoad(socket, late));
      else tellLoad(socket, load);
      return;
    }
    finish();
    if (head.state === "bad") {
      socket.end(formatHttpError(head.httpStatus, head.reason));
      socket.destroySoon();
      handlers.onFailed(head.reason);
      return;
    }
    const transport = upgrader.upgrade(head.request, socket, head.rest, peer);
    if (transport === undefined) handlers.onFailed("The websocket handshake is not valid");
    else {
      socket.off("error", onError);
      handlers.onUpgraded(transport);
    }
  };
  const onClose = (): void => {
    finish();
    handlers.onLeft();
  };
  // The close follows.
  const onError = (): void => {};
  socket.on("data", onData);
  socket.on("close", onClose);
  socket.on("error", onError);
}

function tellLoad(socket: Socket, load: string | undefined): void {
  socket.end(load === undefined ? formatHttpError(403, "Only for servers of this Service") : formatHttpAnswer(load));
  socket.destroySoon();
}
