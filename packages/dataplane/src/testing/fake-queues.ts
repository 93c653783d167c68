import { type Filter, type Qdisc, QDISC_INGRESS, QDISC_ROOT, type RouteOperation } from "@bulrush/netlink";

type QueueWrite = Extract<RouteOperation, { readonly kind: "replace-qdisc" | "delete-qdisc" | "add-redirect" }>;

/** Queueing disciplines and filters in memory. A device has a queue of its own kind at its root until one is put there. */
export class FakeQueues {
  readonly #isDevice: (index: number) => boolean;
  readonly #qdiscs = new Map<string, Qdisc>();
  readonly #filters = new Map<number, Filter[]>();
  /** Devices that take no qdisc. */
  readonly refusing: Set<number> = new Set();
  /** How often qdiscs were listed. */
  listings = 0;

  constructor(isDevice: (index: number) => boolean) {
    this.#isDevice = isDevice;
  }

  qdiscs(): Qdisc[] {
    this.listings++;
    return [...this.#qdiscs.values()];
  }

  filters(device: number): Filter[] {
    return this.#filters.get(device) ?? [];
  }

  /** Puts a qdisc there as somebody else would. */
  put(qdisc: Qdisc): void {
    this.#qdiscs.set(`${qdisc.device} ${qdisc.parent}`, qdisc);
  }

  dropDevice(index: number): void {
    for (const [key, { device }] of this.#qdiscs) if (device === index) this.#qdiscs.delete(key);
    this.#filters.delete(index);
  }

  write(operation: QueueWrite): string | undefined {
    if (operation.kind === "add-redirect") {
      const { device, to } = operation.redirect;
      if (!this.#isDevice(device) || !this.#isDevice(to)) return "ENODEV";
      if (!this.#qdiscs.has(`${device} ${QDISC_INGRESS}`)) return "ENOENT";
      this.#filters.set(device, [...this.filters(device), { device, kind: "u32", redirectTo: to }]);
      return undefined;
    }
    const { device, kind } = operation.qdisc;
    const parent = kind === "ingress" ? QDISC_INGRESS : QDISC_ROOT;
    const key = `${device} ${parent}`;
    if (!this.#isDevice(device)) return "ENODEV";
    if (operation.kind === "replace-qdisc") {
      if (this.refusing.has(device)) return "EINVAL";
      const { qdisc } = operation;
      const bucket = qdisc.kind === "tbf" ? { bucket: qdisc.bucket } : {};
      this.#qdiscs.set(key, { device, kind, handle: 1, parent, ...bucket });
      return undefined;
    }
    if (this.#qdiscs.get(key)?.kind !== kind) return "ENOENT";
    this.#qdiscs.delete(key);
    if (kind === "ingress") this.#filters.delete(device);
    return undefined;
  }
}
