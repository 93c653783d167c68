import { isDeepStrictEqual } from "node:util";
import type { HttpServerHandle } from "./server.ts";

/** A server that follows its settings. */
export interface LiveServer<S> {
  /** Without effect where the settings are as before; else the server is closed, and made anew once it is. */
  update(settings: S): void;
  /** Ends it; later updates have no effect. */
  close(): Promise<void>;
}

/** `make` gives undefined where these settings ask for no server. Nothing listens before the first `update`. */
export function liveServer<S>(make: (settings: S) => HttpServerHandle | undefined): LiveServer<S> {
  let known: { readonly settings: S } | undefined;
  let server: HttpServerHandle | undefined;
  let closed = false;
  let turn: Promise<void> = Promise.resolve();
  const closeServer = async (): Promise<void> => {
    const old = server;
    server = undefined;
    await old?.close();
  };
  return {
    update(settings) {
      if (closed || (known !== undefined && isDeepStrictEqual(known.settings, settings))) return;
      known = { settings };
      turn = turn.then(closeServer).then(() => {
        // Another update, or the end, may have come while the old one closed.
        if (!closed && known?.settings === settings) server = make(settings);
      });
    },
    async close() {
      closed = true;
      await turn;
      await closeServer();
    },
  };
}
