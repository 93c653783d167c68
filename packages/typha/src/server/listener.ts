import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type Server as TlsServer, type TLSSocket } from "node:tls";
import { Backoff, type CancelTimer, type Clock, messageOf } from "@bulrush/base";
import type { Logger } from "@bulrush/service";
import { AcceptProbe } from "./accept-probe.ts";
import { clientCertificateProblem } from "./client-identity.ts";
import { type GatePass, HandshakeGate } from "./handshake-gate.ts";
import type { LimitedLog } from "./limited-log.ts";
import { peerName } from "./peer-name.ts";
import type { ServerMetrics } from "./server-metrics.ts";
import { readTlsMaterial, type SyncTlsSettings, type TlsMaterial, tlsServerOptions } from "./tls-material.ts";
import { TlsReloader } from "./tls-reloader.ts";
import type { Transport } from "./transport.ts";
import { receiveUpgrade } from "./upgrade.ts";
import { createWebsocketUpgrader, type WebsocketUpgrader } from "./websocket-transport.ts";

export interface ListenerOptions {
  /** Empty: all addresses. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Undefined: plain TCP. */
  readonly tls: SyncTlsSettings | undefined;
  /** TLS, upgrade and hello together. */
  readonly handshakeTimeoutMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly log: LimitedLog;
  readonly metrics: ServerMetrics;
  /** A peer that may come in. The hello must come before `deadlineMs` (monotonic). */
  readonly onAccepted: (transport: Transport, deadlineMs: number) => void;
  /** A peer that may not, and can be told why. */
  readonly onRefused: (transport: Transport, reason: string) => void;
  /** Certificates were read anew, and are what new connections are served with. */
  readonly onTlsReloaded?: (material: TlsMaterial) => void;
  /** What to tell another server of this one's load, as JSON. `reserve`: it is about to send a client (see `loadPath`). */
  readonly load?: (reserve: string | undefined) => string | Promise<string | undefined>;
  /**
   * Other threads of this process listen at the same port, and the kernel gives each some of the connections
   * (SO_REUSEPORT, socket(7)). Then a probe of ours would arrive anywhere: somebody else probes, see `expectProbe`.
   */
  readonly sharesPort?: boolean;
}

/** A connection between accept and upgrade. */
interface Handshake {
  readonly socket: Socket;
  readonly pass: GatePass;
  readonly deadlineMs: number;
  readonly cancelTimeout: CancelTimer;
}

/**
 * Accepts connections on the sync port and brings them through TLS and the upgrade.
 *
 * ```
 *  starting --listen--> listening --accept or listen error--> waiting --back-off--> starting
 *
 *  accept -> gate -> [TLS] -> certificate looked at -> HTTP head -> websocket --good--> onAccepted
 *     |  within handshakeTimeoutMs, else cut                       \---bad certificate--> onRefused
 * ```
 * An error of the listening socket (no file descriptors, no memory) closes it for a moment and opens it anew: streams
 * go on, newcomers are refused by the kernel at once and try elsewhere, and the loop does not spin.
 *
 * Invariant: `#handshakes` has an entry for each connection that is not handed over yet, by its peer's name.
 */
export class SyncListener {
  /** Resolves at the first successful listen. Never rejects. */
  readonly listening: Promise<AddressInfo>;
  readonly #options: ListenerOptions;
  readonly #upgrader: WebsocketUpgrader = createWebsocketUpgrader();
  readonly #backoff: Backoff;
  readonly #gate: HandshakeGate;
  readonly #handshakes = new Map<string, Handshake>();
  readonly #probe: AcceptProbe;
  readonly #resolveListening: (address: AddressInfo) => void;
  #server: Server | undefined = undefined;
  #material: TlsMaterial | undefined = undefined;
  #reloader: TlsReloader | undefined = undefined;
  #problem: string | undefined = "Not listening yet";
  #closed = false;
  #expected: { readonly peer: string; readonly onArrived: () => void } | undefined = undefined;
  #cancelRetry: CancelTimer = () => {};

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#gate = new HandshakeGate(options.clock);
    this.#backoff = new Backoff({ initialMs: 100, maxMs: 5000 }, options.random);
    this.#probe = new AcceptProbe({ clock: options.clock, onResult: (problem) => this.#onProbed(problem) });
    const { promise, resolve } = Promise.withResolvers<AddressInfo>();
    this.listening = promise;
    this.#resolveListening = resolve;
    this.#start();
  }

  /** Why nobody can connect at the moment, in words; undefined when all is well. */
  problem(): string | undefined {
    return this.#problem;
  }

  /** End of the server certificate's life, Unix ms; undefined without TLS. */
  certificateExpiresAtMs(): number | undefined {
    return this.#material?.expiresAtMs;
  }

  /** Why the certificate files that are there are not the ones that are served; undefined: they are. */
  certificateProblem(): string | undefined {
    return this.#reloader?.problem();
  }

  /** A connection from `peer` is somebody's probe: calls back once, when it arrives here or if it has already. */
  expectProbe(peer: string, onArrived: () => void): void {
    this.#expected = this.#handshakes.has(peer) ? undefined : { peer, onArrived };
    if (this.#expected === undefined) onArrived();
  }

  /** Takes nobody new. Open connections stay. */
  close(): void {
    this.#closed = true;
    this.#cancelRetry();
    this.#reloader?.close();
    this.#probe.stop();
    this.#problem = "Closed";
    this.#server?.close();
    this.#server = undefined;
  }

  #start(): void {
    const { host, port } = this.#options;
    let server: Server;
    try {
      server = this.#createServer();
    } catch (error) {
      this.#onServerError(error);
      return;
    }
    this.#server = server;
    server.on("error", (error) => {
      if (server === this.#server) this.#onServerError(error);
    });
    const reusePort = this.#options.sharesPort === true;
    server.listen({ port, ...(host !== "" && { host }), ...(reusePort && { reusePort }) }, () => {
      const address = server.address() as AddressInfo;
      this.#problem = undefined;
      this.#backoff.reset();
      this.#options.logger.info("Listening for sync clients", { address: address.address, port: address.port });
      this.#resolveListening(address);
      if (!reusePort) this.#probe.start(address);
    });
  }

  #onProbed(problem: string | undefined): void {
    const words = problem === undefined ? undefined : `Cannot accept sync clients: ${problem}`;
    if (words !== undefined) this.#options.metrics.acceptErrors.inc();
    // The same each time is said once.
    if (words !== undefined && words !== this.#problem)
      this.#options.logger.error("Cannot accept sync clients", { problem });
    this.#problem = words;
  }

  /** The listening socket, and what a connection goes to when it is its turn. */
  #createServer(): Server {
    const { tls } = this.#options;
    const secure = tls === undefined ? undefined : this.#createSecure(tls);
    const begin =
      secure === undefined
        ? (socket: Socket) => {
            socket.resume();
            this.#onReady(socket, undefined, () => true);
          }
        : (socket: Socket) => void secure.emit("connection", socket);
    // What a peer sends before its turn stays in the kernel.
    const options = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000, pauseOnConnect: true };
    return createServer(options, (socket) => this.#onConnection(socket, begin));
  }

  /** TLS for sockets that it is given. */
  #createSecure(tls: SyncTlsSettings): TlsServer {
    const { handshakeTimeoutMs, clock, logger, metrics, onTlsReloaded } = this.#options;
    let material = readTlsMaterial(tls);
    const secure = createTlsServer(tlsServerOptions(material, handshakeTimeoutMs));
    this.#material = material;
    this.#reloader?.close();
    this.#reloader = new TlsReloader({
      settings: tls,
      material,
      clock,
      logger,
      onResult: (result) => metrics.certificates(result),
      onReloaded: (fresh) => {
        material = fresh;
        this.#material = fresh;
        // For new handshakes; open connections keep what they have.
        secure.setSecureContext(tlsServerOptions(fresh, handshakeTimeoutMs));
        onTlsReloaded?.(fresh);
      },
    });
    secure.on("secureConnection", (socket) => {
      const { fellowRule } = material;
      const isFellow = (): boolean =>
        fellowRule !== undefined && clientCertificateProblem(socket, fellowRule) === undefined;
      this.#onReady(socket, clientCertificateProblem(socket, tls.clientRule), isFellow);
    });
    secure.on("tlsClientError", (error, socket) => this.#onTlsError(error, socket));
    return secure;
  }

  #onServerError(error: unknown): void {
    this.#options.metrics.acceptErrors.inc();
    const retryInMs = Math.round(this.#backoff.nextMs());
    this.#problem = `Cannot accept sync clients: ${messageOf(error)}`;
    this.#options.logger.error("Cannot accept sync clients", { error, retryInMs });
    this.#probe.stop();
    this.#server?.close();
    this.#server = undefined;
    if (this.#closed) return;
    this.#cancelRetry = this.#options.clock.after(retryInMs, () => this.#start());
  }

  #onConnection(socket: Socket, begin: (socket: Socket) => void): void {
    if (this.#probe.isOwn(socket)) return;
    const { metrics, clock, handshakeTimeoutMs } = this.#options;
    const peer = peerName(socket);
    if (socket.remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    if (this.#expected?.peer === peer) {
      this.#expected.onArrived();
      this.#expected = undefined;
    }
    metrics.accepted.inc();
    // Before its turn an error of the socket has no other listener; the close follows.
    socket.on("error", () => {});
    // Its turn may come at once, before all is noted, or late, when the peer is gone.
    const pass = this.#gate.enter(() =>
      setImmediate(() => {
        if (this.#handshakes.get(peer)?.socket === socket) begin(socket);
      }),
    );
    if (pass === undefined) {
      metrics.rejected("overload");
      this.#options.log.warn("Too many handshakes at once", { peer, code: "overload", open: this.#gate.total });
      socket.destroy();
      return;
    }
    metrics.active.add(1);
    const handshake: Handshake = {
      socket,
      pass,
      deadlineMs: clock.monotonicMs() + handshakeTimeoutMs,
      cancelTimeout: clock.after(handshakeTimeoutMs, () => {
        this.#options.log.warn("Handshake took too long", {
          peer,
          code: "handshake-timeout",
          timeoutMs: handshakeTimeoutMs,
        });
        metrics.rejected("handshake-timeout");
        socket.destroy();
      }),
    };
    this.#handshakes.set(peer, handshake);
    socket.once("close", () => {
      metrics.active.add(-1);
      handshake.cancelTimeout();
      pass.done();
      if (this.#handshakes.get(peer) === handshake) this.#handshakes.delete(peer);
    });
  }

  #onTlsError(error: Error, socket: TLSSocket): void {
    const peer = failedPeerName(socket);
    socket.destroy();
    // A peer that only looks whether the port is open (a TCP probe) hangs up before it has sent anything.
    if ("code" in error && error.code === "ECONNRESET") {
      this.#options.logger.debug("Peer left during the TLS handshake", { peer });
      return;
    }
    this.#options.metrics.rejected("tls");
    this.#options.log.warn("TLS handshake failed", { peer, code: "tls", reason: error.message });
  }

  /**
   * TLS, where there is any, is through. `refusal`: what is wrong with the peer's certificate as a client's. `isFellow`:
   * it has the name of this server's own.
   */
  #onReady(socket: Socket, refusal: string | undefined, isFellow: () => boolean): void {
    const peer = peerName(socket);
    const handshake = this.#handshakes.get(peer);
    if (handshake === undefined) {
      socket.destroy();
      return;
    }
    const { log, metrics, onAccepted, onRefused } = this.#options;
    // Asked now: a connection that is gone has no certificate any more.
    const isServer = refusal !== undefined && isFellow();
    receiveUpgrade(socket, this.#upgrader, peer, {
      onUpgraded: (transport) => {
        handshake.cancelTimeout();
        handshake.pass.done();
        this.#handshakes.delete(peer);
        if (refusal === undefined) onAccepted(transport, handshake.deadlineMs);
        else onRefused(transport, refusal);
      },
      onFailed: (reason) => {
        const code = refusal === undefined ? "upgrade" : "identity";
        metrics.rejected(code);
        log.warn("Upgrade refused", { peer, code, reason: refusal === undefined ? reason : `${refusal}; ${reason}` });
      },
      load: (reserve) => {
        if (isServer || isFellow()) return this.#options.load?.(reserve);
        // A client may look, but keeps no place.
        return refusal === undefined ? this.#options.load?.(undefined) : undefined;
      },
      onLeft: () => {
        if (refusal === undefined || isServer) return;
        metrics.rejected("identity");
        log.warn("Client certificate refused", { peer, code: "identity", reason: refusal });
      },
    });
  }
}

/**
 * A TLS socket whose handshake failed has lost its handle, and with it its peer. The socket below it remembers: Node
 * keeps it as `_parent`, which nothing public gives.
 */
function failedPeerName(socket: TLSSocket & { readonly _parent?: Socket }): string {
  return peerName(socket.remoteAddress === undefined && socket._parent !== undefined ? socket._parent : socket);
}
