import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, createSecureContext, type SecureContext } from "node:tls";
import { formatServerAddress, type ServerAddress, type TLSMaterial, tlsOptions } from "@bulrush/sync-client";
import { SYNC_PATH, SYNC_SUBPROTOCOL } from "@bulrush/proto";

/** Opens sockets to servers; TLS settings are worked out once for all of them. */
export class Dialer {
  readonly #tls: { readonly material: TLSMaterial; readonly context: SecureContext } | undefined;

  constructor(material: TLSMaterial | undefined) {
    this.#tls = material && { material, context: createSecureContext({ ...material, minVersion: "TLSv1.2" }) };
  }

  get isSecure(): boolean {
    return this.#tls !== undefined;
  }

  /** Calls `onReady` when TLS is done. Whoever dials listens to `error` and `close`. */
  dial(address: ServerAddress, onReady: () => void): Socket {
    const { host, port } = address;
    if (this.#tls === undefined) return connectTcp({ host, port, noDelay: true }, onReady);
    const { checkServerIdentity } = tlsOptions(this.#tls.material);
    const socket = connectTls(
      {
        host,
        port,
        servername: isIP(host) === 0 ? host : "",
        secureContext: this.#tls.context,
        ...(checkServerIdentity && { checkServerIdentity }),
      },
      onReady,
    );
    return socket.setNoDelay(true);
  }

  /** Without TLS, even where it is asked for. */
  dialPlain({ host, port }: ServerAddress, onReady: () => void): Socket {
    return connectTcp({ host, port, noDelay: true }, onReady);
  }
}

/** The request of RFC 6455 section 4.1. The nonce is the RFC's own: the answer is not checked. */
export function upgradeRequest(address: ServerAddress): string {
  return (
    `GET ${SYNC_PATH} HTTP/1.1\r\nHost: ${formatServerAddress(address)}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
    `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n` +
    `Sec-WebSocket-Protocol: ${SYNC_SUBPROTOCOL}\r\n\r\n`
  );
}
