import { type AddressInfo, connect, type Socket } from "node:net";
import { type CancelTimer, type Clock, hasCode, messageOf } from "@bulrush/base";
import { peerName } from "./peer-name.ts";

/** Between two probes. */
const INTERVAL_MS = 10_000;
const TIMEOUT_MS = 5000;
/** So many failures in a row are a problem. */
const FAILURES = 2;
/** There is no way from this host to that address, as with IPv6 off: connect(2). It says nothing of the port. */
const NO_WAY = ["EADDRNOTAVAIL", "ENETUNREACH", "EAFNOSUPPORT"];

export interface AcceptProbeOptions {
  readonly clock: Clock;
  /** Called after each probe: why nobody can connect; undefined: somebody can. */
  readonly onResult: (problem: string | undefined) => void;
  /** Where other threads take what comes at the port: told the local end of each probe, for `arrived`. */
  readonly onBegun?: (own: string) => void;
  /** Default: over TCP. */
  readonly connect?: (host: string, port: number) => Socket;
}

/**
 * Connects to our own port now and then, and sees whether the connection arrives. Without it a process that is out of file
 * descriptors looks well: the runtime then takes connections only to close them, and says nothing.
 *
 * ```
 *  probe --connect--> kernel --accept--> the listener: isOwn() --yes--> closed, all is well
 *      |                          \--- closed unseen, refused, or nothing for 5 s: a failure
 *      \--- no way there: the next address; after the last nothing is known of the port, which is no failure
 * ```
 * Invariant: at most one probe is under way, `#own` its local end; one timer runs between `start` and `stop`.
 */
export class AcceptProbe {
  readonly #options: AcceptProbeOptions;
  #address: AddressInfo | undefined;
  #socket: Socket | undefined;
  #own: string | undefined;
  #failures = 0;
  #cancel: CancelTimer = () => {};

  constructor(options: AcceptProbeOptions) {
    this.#options = options;
  }

  /** `address`: where the port listens. */
  start(address: AddressInfo): void {
    this.stop();
    this.#address = address;
    this.#failures = 0;
    this.#schedule();
  }

  stop(): void {
    this.#cancel();
    this.#drop();
    this.#address = undefined;
  }

  /** True for the probe's own connection, which is closed: the listener is to forget it. */
  isOwn(accepted: Socket): boolean {
    if (this.#own === undefined || peerName(accepted) !== this.#own) return false;
    accepted.destroy();
    this.#end(undefined);
    return true;
  }

  /** A connection with this local end was accepted elsewhere. Not ours, or too late: nothing happens. */
  arrived(own: string): void {
    if (this.#own === own) this.#end(undefined);
  }

  #schedule(): void {
    const address = this.#address;
    if (address === undefined) return;
    const hosts = reachable(address.address);
    this.#cancel = this.#options.clock.after(INTERVAL_MS, () => this.#begin(address.port, hosts));
  }

  #begin(port: number, [host, ...others]: readonly [string, ...string[]]): void {
    const { clock, connect = connectTcp } = this.#options;
    const socket = connect(host, port);
    this.#socket = socket;
    this.#cancel = clock.after(TIMEOUT_MS, () => this.#fail(socket, `not taken in ${TIMEOUT_MS / 1000} s`));
    socket.on("error", (error) => {
      if (!NO_WAY.some((code) => hasCode(error, code))) this.#fail(socket, messageOf(error));
      else if (this.#socket === socket) this.#goOn(port, others);
    });
    socket.on("close", () => this.#fail(socket, "closed unseen"));
    // By then the kernel has given it a port, and the listener has had no turn yet.
    process.nextTick(() => {
      const { address: remoteAddress, port: remotePort } = socket.address() as Partial<AddressInfo>;
      if (this.#socket !== socket || remotePort === undefined) return;
      this.#own = peerName({ remoteAddress, remotePort });
      this.#options.onBegun?.(this.#own);
    });
  }

  /** There was no way to the last address. */
  #goOn(port: number, [host, ...others]: readonly string[]): void {
    if (host === undefined) {
      this.#end(undefined);
      return;
    }
    this.#cancel();
    this.#drop();
    this.#begin(port, [host, ...others]);
  }

  #fail(socket: Socket, reason: string): void {
    if (this.#socket === socket) this.#end(`a connection of our own was ${reason}`);
  }

  #end(problem: string | undefined): void {
    this.#cancel();
    this.#drop();
    this.#failures = problem === undefined ? 0 : this.#failures + 1;
    this.#schedule();
    if (problem === undefined || this.#failures >= FAILURES) this.#options.onResult(problem);
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#own = undefined;
    socket?.destroy();
  }
}

function connectTcp(host: string, port: number): Socket {
  return connect({ host, port });
}

/** Addresses of this host at which a port that listens there is reached. With IPv6 off `::` can be had and `::1` cannot. */
function reachable(address: string): readonly [string, ...string[]] {
  if (address === "::") return ["::1", "127.0.0.1"];
  return [address === "0.0.0.0" ? "127.0.0.1" : address];
}
