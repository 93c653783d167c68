import type { Address } from "@bulrush/ip";
import { encodeEcho, isEchoReply } from "./icmp-packet.ts";
import type { NetNamespace } from "./namespace.ts";
import {
  accept,
  bindAny,
  closeSocket,
  IPPROTO_ICMP,
  IPPROTO_ICMPV6,
  IPPROTO_SCTP,
  listen,
  openSocket,
  type Polled,
  POLLERR,
  POLLHUP,
  POLLIN,
  POLLOUT,
  pollSockets,
  receiveFrom,
  sendTo,
  socketError,
  startConnect,
} from "./posix.ts";
import { decodeSctpPacket, encodeSctpPacket } from "./sctp-packet.ts";

export type ProbeProtocol = "TCP" | "UDP" | "SCTP";

/** One attempt to reach a port. */
export interface Probe {
  readonly from: NetNamespace;
  readonly to: Address;
  /** ICMP: an echo request, of the family of `to`. */
  readonly protocol: ProbeProtocol | "ICMP";
  /** Of no meaning to ICMP. */
  readonly port: number;
  /** Default: of UDP one that was not used for long (see {@link UDP_PORTS}), of TCP any. */
  readonly sourcePort?: number;
  /** Of UDP and ICMP: more than a link carries at once comes in fragments. Default and least: 13. */
  readonly payloadBytes?: number;
  /**
   * What the caller believes. It decides only how long silence is listened to: a probe that should connect is given
   * `patienceMs`, one that should not `silenceMs`. A wrong belief is still found out.
   */
  readonly expect?: boolean;
}

export interface ProberOptions {
  /** How long a probe that is expected to connect may take. Default 4000. */
  readonly patienceMs?: number;
  /** How long silence must last before a probe that is expected to fail has failed. Default 250. */
  readonly silenceMs?: number;
}

interface Listener {
  readonly fd: number;
  readonly family: 4 | 6;
  readonly kind: "tcp" | "udp" | "sctp";
  readonly ports: Set<number>;
}

interface Attempt {
  readonly probe: Probe;
  readonly index: number;
  fd: number;
  readonly startedMs: number;
  readonly tag: number;
  readonly payload: Buffer;
  sends: number;
  nextSendMs: number;
  /** Of a TCP connect that failed at once: the socket itself knows nothing of it, and polls as hung up. */
  errno: number;
}

const ECONNRESET = 104;
/** ENETUNREACH, EHOSTUNREACH: somebody on the way has no route (yet), which is no policy's answer. */
const NO_WAY: ReadonlySet<number> = new Set([101, 113]);
const NO_WAY_PAUSE_MS = 50;
const PAYLOAD = Buffer.from("bulrush-probe");
const RESEND_MS = [0, 120, 400, 1000, 2000];
const MAX_IN_FLIGHT = 400;
const BACKLOG = 1024;
/**
 * UDP probes take these ports in turn. The kernel's choice would be a port of some seconds ago now and then, whose flow
 * conntrack still knows as established: a policy's change does not end those, and must not.
 */
const UDP_PORTS = { first: 10_000, last: 60_000 };

/**
 * Holds the listening sockets of every pod, and tries connections between them. All sockets belong to this one process:
 * each is made inside its namespace and then used from outside.
 *
 * TCP connects when the handshake is done; UDP and ICMP when an echo comes back; SCTP when an INIT is answered by an INIT ACK.
 */
export class Prober {
  readonly #listeners = new Map<NetNamespace, Listener[]>();
  readonly #options: Required<ProberOptions>;
  #nextTag = 1;
  #nextSctpPort = 20_000;
  #nextUdpPort = UDP_PORTS.first;

  constructor(options: ProberOptions = {}) {
    this.#options = { patienceMs: 4000, silenceMs: 250, ...options };
  }

  /** Listens on a port of every address in the namespace. */
  serve(namespace: NetNamespace, protocol: ProbeProtocol, port: number): void {
    const listeners = this.#listeners.get(namespace) ?? [];
    this.#listeners.set(namespace, listeners);
    if (protocol === "SCTP") {
      for (const family of [4, 6] as const) {
        let raw = listeners.find((listener) => listener.kind === "sctp" && listener.family === family);
        if (raw === undefined) {
          const fd = namespace.run(() => openSocket(family, "raw", IPPROTO_SCTP));
          raw = { fd, family, kind: "sctp", ports: new Set() };
          listeners.push(raw);
        }
        raw.ports.add(port);
      }
      return;
    }
    const fd = namespace.run(() => {
      const socket = openSocket(6, protocol === "TCP" ? "stream" : "datagram");
      bindAny(socket, 6, port);
      if (protocol === "TCP") listen(socket, BACKLOG);
      return socket;
    });
    listeners.push({ fd, family: 6, kind: protocol === "TCP" ? "tcp" : "udp", ports: new Set([port]) });
  }

  /** Stops listening in a namespace. */
  remove(namespace: NetNamespace): void {
    for (const listener of this.#listeners.get(namespace) ?? []) closeSocket(listener.fd);
    this.#listeners.delete(namespace);
  }

  close(): void {
    for (const namespace of this.#listeners.keys()) this.remove(namespace);
  }

  /** Tries every probe, many at once. The answers are in order: true where it connected. */
  async run(probes: readonly Probe[]): Promise<boolean[]> {
    const answers = Array.from({ length: probes.length }, () => false);
    for (let start = 0; start < probes.length; start += MAX_IN_FLIGHT)
      await this.#runBatch(probes.slice(start, start + MAX_IN_FLIGHT), start, answers);
    return answers;
  }

  async #runBatch(probes: readonly Probe[], offset: number, answers: boolean[]): Promise<void> {
    const open = new Map<number, Attempt>();
    for (const [i, probe] of probes.entries()) {
      const attempt = this.#start(probe, offset + i);
      open.set(attempt.fd, attempt);
    }
    try {
      while (open.size > 0) {
        this.#step(open, answers);
        const nowMs = performance.now();
        for (const attempt of open.values()) {
          const limitMs = attempt.probe.expect === false ? this.#options.silenceMs : this.#options.patienceMs;
          if (nowMs - attempt.startedMs > limitMs) this.#finish(open, attempt);
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      for (const attempt of open.values()) this.#finish(open, attempt);
    }
  }

  #start(probe: Probe, index: number): Attempt {
    const startedMs = performance.now();
    const fd = probe.from.run(() => openProbeSocket(this.#withOwnPort(probe)));
    const payload = Buffer.alloc(Math.max(PAYLOAD.length, probe.payloadBytes ?? 0), PAYLOAD);
    return { probe, index, fd, startedMs, tag: this.#nextTag++, payload, sends: 0, nextSendMs: startedMs, errno: 0 };
  }

  #withOwnPort(probe: Probe): Probe {
    if (probe.protocol !== "UDP" || probe.sourcePort !== undefined) return probe;
    const served = this.#listeners.get(probe.from) ?? [];
    let sourcePort: number;
    do {
      sourcePort = this.#nextUdpPort;
      this.#nextUdpPort = sourcePort === UDP_PORTS.last ? UDP_PORTS.first : sourcePort + 1;
    } while (served.some(({ kind, ports }) => kind === "udp" && ports.has(sourcePort)));
    return { ...probe, sourcePort };
  }

  /** One turn: serve what came in, send what is due, read the answers. */
  #step(open: Map<number, Attempt>, answers: boolean[]): void {
    const listeners = [...this.#listeners.values()].flat();
    const nowMs = performance.now();
    for (const attempt of open.values()) if (nowMs >= attempt.nextSendMs) this.#send(attempt, nowMs);
    const attempts = [...open.values()];
    const ready = pollSockets([...listeners.map(({ fd }) => ({ fd, events: POLLIN })), ...attempts.map(polledOf)], 2);
    for (const [i, attempt] of attempts.entries()) {
      const events = ready[listeners.length + i] ?? 0;
      if (events === 0) continue;
      const verdict = this.#read(attempt, events);
      if (verdict === "again") this.#reconnect(open, attempt);
      if (verdict === undefined || verdict === "again") continue;
      answers[attempt.index] = verdict;
      this.#finish(open, attempt);
    }
    for (const [i, listener] of listeners.entries()) if (((ready[i] ?? 0) & POLLIN) !== 0) answer(listener);
  }

  #send(attempt: Attempt, nowMs: number): void {
    const { probe, fd } = attempt;
    if (probe.protocol === "TCP") {
      attempt.nextSendMs = Number.POSITIVE_INFINITY;
      attempt.errno = startConnect(fd, probe.to, probe.port);
      return;
    }
    attempt.sends++;
    const next = RESEND_MS[attempt.sends];
    attempt.nextSendMs = next === undefined ? Number.POSITIVE_INFINITY : attempt.startedMs + next;
    if (nowMs < attempt.startedMs) return;
    if (probe.protocol === "UDP") {
      sendTo(fd, attempt.payload, probe.to, probe.port);
      return;
    }
    if (probe.protocol === "ICMP") {
      sendTo(fd, encodeEcho(probe.to.family, attempt.tag, attempt.payload), probe.to, 0);
      return;
    }
    // A new source port for every try: a retransmitted INIT of a dropped flow must not look like an answer.
    const sourcePort = probe.sourcePort ?? this.#nextSctpPort++;
    if (this.#nextSctpPort > 60_000) this.#nextSctpPort = 20_000;
    const packet = encodeSctpPacket({
      sourcePort,
      destinationPort: probe.port,
      verificationTag: 0,
      chunk: "init",
      initiateTag: attempt.tag,
    });
    sendTo(fd, packet, probe.to, 0);
  }

  #read(attempt: Attempt, events: number): boolean | "again" | undefined {
    if (attempt.probe.protocol === "TCP") {
      if ((events & (POLLOUT | POLLERR | POLLHUP)) === 0) return undefined;
      const errno = attempt.errno === 0 ? socketError(attempt.fd) : attempt.errno;
      if (NO_WAY.has(errno) && attempt.probe.expect !== false) {
        return "again";
      }
      // A reset after the handshake comes from our own listener; a refusal in place of it is ECONNREFUSED.
      return errno === 0 || errno === ECONNRESET;
    }
    const { family } = attempt.probe.to;
    for (let datagram = receiveFrom(attempt.fd); datagram !== undefined; datagram = receiveFrom(attempt.fd)) {
      if (attempt.probe.protocol === "UDP") return datagram.bytes.equals(attempt.payload);
      const bytes = withoutHeader(datagram.bytes, family);
      if (attempt.probe.protocol === "ICMP") {
        if (isEchoReply(family, bytes, attempt.tag, attempt.payload)) return true;
        continue;
      }
      const packet = decodeSctpPacket(bytes);
      if (packet?.chunk === "init-ack" && packet.verificationTag === attempt.tag) return true;
    }
    return undefined;
  }

  /** Connects once more after a pause, from a new socket: one whose connect failed does not quite forget it. */
  #reconnect(open: Map<number, Attempt>, attempt: Attempt): void {
    this.#finish(open, attempt);
    attempt.fd = attempt.probe.from.run(() => openProbeSocket(attempt.probe));
    attempt.nextSendMs = performance.now() + NO_WAY_PAUSE_MS;
    attempt.errno = 0;
    open.set(attempt.fd, attempt);
  }

  #finish(open: Map<number, Attempt>, attempt: Attempt): void {
    open.delete(attempt.fd);
    closeSocket(attempt.fd, { reset: attempt.probe.protocol === "TCP" });
  }
}

/** A TCP socket between two connects would report a hang-up: poll passes over negative descriptors. */
function polledOf({ fd, probe, nextSendMs }: Attempt): Polled {
  if (probe.protocol !== "TCP") return { fd, events: POLLIN };
  return { fd: nextSendMs === Number.POSITIVE_INFINITY ? fd : -1, events: POLLOUT };
}

/** To be called inside the probe's namespace. */
function openProbeSocket({ protocol, sourcePort, to }: Probe): number {
  const { family } = to;
  if (protocol === "ICMP") return openSocket(family, "raw", family === 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
  if (protocol === "SCTP") return openSocket(family, "raw", IPPROTO_SCTP);
  const fd = openSocket(family, protocol === "TCP" ? "stream" : "datagram");
  if (sourcePort !== undefined) bindAny(fd, family, sourcePort);
  return fd;
}

/** Raw IPv4 sockets hand out the IP header, raw IPv6 sockets do not. */
function withoutHeader(bytes: Buffer, family: 4 | 6): Buffer {
  return family === 4 ? bytes.subarray((bytes.readUInt8(0) & 15) * 4) : bytes;
}

function answer(listener: Listener): void {
  if (listener.kind === "tcp") {
    for (let fd = accept(listener.fd); fd !== undefined; fd = accept(listener.fd)) closeSocket(fd, { reset: true });
    return;
  }
  for (let datagram = receiveFrom(listener.fd); datagram !== undefined; datagram = receiveFrom(listener.fd)) {
    if (listener.kind === "udp") {
      sendTo(listener.fd, datagram.bytes, datagram.from, datagram.port, 6);
      continue;
    }
    const init = decodeSctpPacket(withoutHeader(datagram.bytes, listener.family));
    if (init?.chunk !== "init" || !listener.ports.has(init.destinationPort)) continue;
    const reply = encodeSctpPacket({
      sourcePort: init.destinationPort,
      destinationPort: init.sourcePort,
      verificationTag: init.initiateTag,
      chunk: "init-ack",
      initiateTag: 1,
    });
    sendTo(listener.fd, reply, datagram.from, 0);
  }
}
