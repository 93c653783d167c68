import { type AddressInfo, connect, type Socket } from "node:net";
import { type CancelTimer, type Clock, messageOf } from "@bulrush/base";

/** Between two probes. */
const INTERVAL_MS = 10_000;
const TIMEOUT_MS = 5000;
/** So many failures in a row are a problem. */
const FAILURES = 2;

export interface AcceptProbeOptions {
  readonly clock: Clock;
  /** Called after each probe: why nobody can connect; undefined: somebody can. */
  readonly onResult: (problem: string | undefined) => void;
}

/**
 * Connects to our own port now and then, and sees whether the connection arrives. Without it a process that is out of file
 * descriptors looks well: the runtime then takes connections only to close them, and says nothing.
 *
 * ```
 *  probe --connect--> kernel --accept--> the listener: isOwn() --yes--> closed, all is well
 *                                 \--- closed unseen, refused, or nothing for 5 s: a failure
 * ```
 * Invariant: at most one probe is under way, `#port` its local port; one timer runs between `start` and `stop`.
 */
export class AcceptProbe {
  readonly #options: AcceptProbeOptions;
  #address: AddressInfo | undefined;
  #socket: Socket | undefined;
  #port: number | undefined;
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
    if (this.#port === undefined || accepted.remotePort !== this.#port) return false;
    accepted.destroy();
    this.#end(undefined);
    return true;
  }

  #schedule(): void {
    const address = this.#address;
    if (address !== undefined) this.#cancel = this.#options.clock.after(INTERVAL_MS, () => this.#begin(address));
  }

  #begin(address: AddressInfo): void {
    const { clock } = this.#options;
    const socket = connect({ host: reachable(address.address), port: address.port });
    this.#socket = socket;
    this.#cancel = clock.after(TIMEOUT_MS, () => this.#fail(socket, `not taken in ${TIMEOUT_MS / 1000} s`));
    socket.on("error", (error) => this.#fail(socket, messageOf(error)));
    socket.on("close", () => this.#fail(socket, "closed unseen"));
    // By then the kernel has given it a port, and the listener has had no turn yet.
    process.nextTick(() => {
      const { port } = socket.address() as Partial<AddressInfo>;
      if (this.#socket === socket) this.#port = port;
    });
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
    this.#port = undefined;
    socket?.destroy();
  }
}

/** An address of this host at which a port that listens there is reached. */
function reachable(address: string): string {
  if (address === "::") return "::1";
  return address === "0.0.0.0" ? "127.0.0.1" : address;
}
