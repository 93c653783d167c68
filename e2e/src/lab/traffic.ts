import { readSync, writeSync } from "node:fs";
import type { Address } from "@bulrush/ip";
import type { NetNamespace } from "./namespace.ts";
import {
  accept,
  bindAny,
  closeSocket,
  listen,
  openSocket,
  POLLIN,
  POLLOUT,
  pollSockets,
  receiveFrom,
  sendTo,
  socketError,
  startConnect,
} from "./posix.ts";

/**
 * `established`: one TCP connection that is made at the start and carries a byte every few milliseconds.
 * `connects`: a new TCP connection every few milliseconds. `datagrams`: a UDP datagram every few milliseconds.
 * `clings`: as `connects`, but connections that are made stay, the last few of them, and carry bytes.
 */
export type TrafficKind = "established" | "connects" | "datagrams" | "clings";

export interface TrafficFlow {
  readonly name: string;
  readonly kind: TrafficKind;
  readonly from: NetNamespace;
  readonly to: NetNamespace;
  readonly address: Address;
  readonly port: number;
}

export interface TrafficReport {
  readonly name: string;
  readonly sent: number;
  /** What the other end got: bytes, connections or datagrams. */
  readonly delivered: number;
  /** Longest time between two deliveries, from the start to the end. */
  readonly longestGapMs: number;
}

interface Running {
  readonly flow: TrafficFlow;
  readonly listener: number;
  sender: number | undefined;
  readonly accepted: number[];
  readonly attempts: { readonly fd: number; readonly sinceMs: number }[];
  /** Connections of `clings`, oldest first. */
  readonly kept: number[];
  sent: number;
  delivered: number;
  lastDeliveryMs: number;
  longestGapMs: number;
  nextMs: number;
}

const EVERY_MS: Readonly<Record<TrafficKind, number>> = { established: 4, connects: 10, datagrams: 2, clings: 10 };
/** An attempt that got no answer is given up after this, and another is made. */
const ATTEMPT_MS = 300;
const MAX_ATTEMPTS = 32;
/** Connections of one `clings` flow. */
const MAX_KEPT = 8;
const BYTE = Buffer.from([1]);

/**
 * Traffic that never stops: what the scenarios measure gaps and leaks with. It runs on the event loop in small steps, so
 * other work of the scenario goes on beside it.
 */
export class Traffic {
  readonly #running: Running[];
  #isStopping = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(flows: readonly TrafficFlow[]) {
    const nowMs = performance.now();
    this.#running = flows.map((flow) => {
      const listener = flow.to.run(() => {
        const fd = openSocket(6, flow.kind === "datagrams" ? "datagram" : "stream");
        bindAny(fd, 6, flow.port);
        if (flow.kind !== "datagrams") listen(fd, 512);
        return fd;
      });
      return {
        flow,
        listener,
        sender: undefined,
        accepted: [],
        attempts: [],
        kept: [],
        sent: 0,
        delivered: 0,
        lastDeliveryMs: nowMs,
        longestGapMs: 0,
        nextMs: nowMs,
      };
    });
  }

  /** Starts; resolves once everything that is named in `delivering` has delivered something. */
  async start(delivering: readonly string[], timeoutMs = 5000): Promise<void> {
    this.#loop = this.#run();
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const waiting = this.#running.filter(({ flow, delivered }) => delivering.includes(flow.name) && delivered === 0);
      if (waiting.length === 0) return;
      if (performance.now() > deadlineMs) throw new Error(`Nothing gets through on ${waiting[0]?.flow.name ?? "?"}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Forgets what was counted: what follows is measured by itself. */
  reset(): void {
    const nowMs = performance.now();
    for (const running of this.#running) {
      running.sent = 0;
      running.delivered = 0;
      running.longestGapMs = 0;
      running.lastDeliveryMs = nowMs;
    }
  }

  report(): TrafficReport[] {
    const nowMs = performance.now();
    return this.#running.map(({ flow, sent, delivered, longestGapMs, lastDeliveryMs }) => ({
      name: flow.name,
      sent,
      delivered,
      longestGapMs: Math.round(Math.max(longestGapMs, nowMs - lastDeliveryMs)),
    }));
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#loop;
    for (const { listener, sender, accepted, attempts, kept } of this.#running) {
      closeSocket(listener);
      if (sender !== undefined) closeSocket(sender, { reset: true });
      for (const fd of [...accepted, ...kept]) closeSocket(fd, { reset: true });
      for (const { fd } of attempts) closeSocket(fd, { reset: true });
    }
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const nowMs = performance.now();
      for (const running of this.#running) {
        receive(running, nowMs);
        if (nowMs < running.nextMs) continue;
        running.nextMs = nowMs + EVERY_MS[running.flow.kind];
        send(running, nowMs);
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

function count(running: Running, nowMs: number, howMany = 1): void {
  running.delivered += howMany;
  running.longestGapMs = Math.max(running.longestGapMs, nowMs - running.lastDeliveryMs);
  running.lastDeliveryMs = nowMs;
}

function send(running: Running, nowMs: number): void {
  const { flow } = running;
  for (const fd of running.kept) tryWrite(fd);
  if (flow.kind === "connects" || flow.kind === "clings") {
    if (running.attempts.length >= MAX_ATTEMPTS) return;
    const fd = flow.from.run(() => openSocket(flow.address.family, "stream"));
    running.sent++;
    if (startConnect(fd, flow.address, flow.port) === 0) running.attempts.push({ fd, sinceMs: nowMs });
    else closeSocket(fd);
    return;
  }
  // A connect that was told "no way", as between the rules and the routes of a host that starts, is made again; a
  // connection that was there and is cut is not.
  if (flow.kind === "established" && running.accepted.length === 0 && running.sender !== undefined) {
    if (socketError(running.sender) !== 0) {
      closeSocket(running.sender, { reset: true });
      running.sender = undefined;
    }
  }
  if (running.sender === undefined) {
    running.sender = flow.from.run(() =>
      openSocket(flow.address.family, flow.kind === "datagrams" ? "datagram" : "stream"),
    );
    if (flow.kind === "established") startConnect(running.sender, flow.address, flow.port);
  }
  running.sent++;
  if (flow.kind === "datagrams") sendTo(running.sender, BYTE, flow.address, flow.port);
  else if (((pollSockets([{ fd: running.sender, events: POLLOUT }], 0)[0] ?? 0) & POLLOUT) !== 0)
    tryWrite(running.sender);
}

function tryWrite(fd: number): void {
  try {
    writeSync(fd, BYTE);
  } catch {
    // Not connected yet, or cut: what does not arrive is what is counted.
  }
}

function receive(running: Running, nowMs: number): void {
  const { flow, listener, accepted, attempts } = running;
  if (flow.kind === "datagrams") {
    while (receiveFrom(listener) !== undefined) count(running, nowMs);
    return;
  }
  for (let fd = accept(listener); fd !== undefined; fd = accept(listener)) {
    if (flow.kind === "established") accepted.push(fd);
    else if (flow.kind === "clings") {
      accepted.push(fd);
      while (accepted.length > MAX_KEPT) closeSocket(accepted.shift() ?? 0, { reset: true });
    } else closeSocket(fd, { reset: true });
  }
  if (flow.kind === "connects" || flow.kind === "clings") {
    const ready = pollSockets(
      attempts.map(({ fd }) => ({ fd, events: POLLOUT })),
      0,
    );
    for (let i = attempts.length - 1; i >= 0; i--) {
      const attempt = attempts[i];
      if (attempt === undefined) continue;
      const isDone = (ready[i] ?? 0) !== 0;
      if (!isDone && nowMs - attempt.sinceMs < ATTEMPT_MS) continue;
      const errno = isDone ? socketError(attempt.fd) : -1;
      if (errno === 0 || errno === 104) count(running, nowMs);
      attempts.splice(i, 1);
      if (errno === 0 && flow.kind === "clings") running.kept.push(attempt.fd);
      else closeSocket(attempt.fd, { reset: true });
      while (running.kept.length > MAX_KEPT) closeSocket(running.kept.shift() ?? 0, { reset: true });
    }
    if (flow.kind === "connects") return;
  }
  const ready = pollSockets(
    accepted.map((fd) => ({ fd, events: POLLIN })),
    0,
  );
  const buffer = Buffer.allocUnsafe(4096);
  for (const [i, fd] of accepted.entries()) {
    if (((ready[i] ?? 0) & POLLIN) === 0) continue;
    try {
      const got = readSync(fd, buffer);
      if (got > 0) count(running, nowMs, got);
    } catch {
      // Reset by the peer: the silence that follows shows in the report.
    }
  }
}
