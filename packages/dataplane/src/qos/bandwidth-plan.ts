import { createHash } from "node:crypto";
import {
  type Filter,
  type Link,
  type Qdisc,
  QDISC_INGRESS,
  QDISC_ROOT,
  type RouteOperation,
  type TokenBucket,
} from "@bulrush/netlink";
import { isSameBucket } from "./token-bucket.ts";

/** Devices whose queues hold back what workloads send. The kernel gives names 15 bytes. */
export const QUEUE_DEVICE_PREFIX = "bwcali";
const NAME_BYTES = 15;

/** The queue device of a workload interface. */
export function queueDeviceOf(interfaceName: string): string {
  const hash = createHash("sha256").update(interfaceName).digest("hex");
  return `${QUEUE_DEVICE_PREFIX}${hash}`.slice(0, NAME_BYTES);
}

/** The bandwidth of one workload interface as wanted. */
export interface Bandwidth {
  readonly ingress: TokenBucket | undefined;
  readonly egress: TokenBucket | undefined;
}

/** What the kernel has of one workload interface. */
export interface QueueState {
  readonly link: Link;
  readonly queueDevice: Link | undefined;
  readonly qdiscs: readonly Qdisc[];
  readonly filters: readonly Filter[];
}

/**
 * What brings an interface nearer to its bandwidth. The queue device has to be there before it can be named: then comes
 * a second round.
 *
 *     to the workload:     cali1, root: token bucket
 *     from the workload:   cali1, ingress: redirect ──> bwcali1, root: token bucket ──> on its way, as from cali1
 *
 * The bucket is in place before anything is redirected to it. A token bucket at the root of a workload interface is ours,
 * whoever put it there, and so is what redirects to a queue device of ours; other qdiscs stay where there is no limit,
 * and are replaced where there is one.
 */
export function planBandwidth(wanted: Bandwidth, state: QueueState): RouteOperation[] {
  return [...planIngress(wanted.ingress, state), ...planEgress(wanted.egress, state)];
}

function planIngress(wanted: TokenBucket | undefined, { link, qdiscs }: QueueState): RouteOperation[] {
  const root = qdiscs.find((qdisc) => qdisc.device === link.index && qdisc.parent === QDISC_ROOT);
  if (wanted === undefined)
    return root?.kind === "tbf" ? [{ kind: "delete-qdisc", qdisc: { kind: "tbf", device: link.index } }] : [];
  return planBucket(wanted, link.index, root);
}

function planBucket(bucket: TokenBucket, device: number, root: Qdisc | undefined): RouteOperation[] {
  if (root?.kind === "tbf" && isSameBucket(bucket, root.bucket)) return [];
  return [{ kind: "replace-qdisc", qdisc: { kind: "tbf", device, bucket } }];
}

function planEgress(wanted: TokenBucket | undefined, state: QueueState): RouteOperation[] {
  const { filters, link, qdiscs, queueDevice } = state;
  const device = link.index;
  const ingress = { kind: "ingress", device } as const;
  const hasIngress = qdiscs.some((qdisc) => qdisc.device === device && qdisc.parent === QDISC_INGRESS);
  if (wanted === undefined) {
    if (queueDevice === undefined) return [];
    const redirects = filters.some(({ redirectTo }) => redirectTo === queueDevice.index);
    return [
      ...(redirects ? [{ kind: "delete-qdisc", qdisc: ingress } as const] : []),
      { kind: "delete-link", link: queueDevice.index },
    ];
  }
  if (queueDevice === undefined)
    return [
      {
        kind: "add-link",
        plain: { name: queueDeviceOf(link.name), kind: "ifb", mtu: link.mtu, up: true },
      },
    ];
  const operations: RouteOperation[] = [];
  if (!queueDevice.up) operations.push({ kind: "change-link", link: queueDevice.index, change: { up: true } });
  const root = qdiscs.find((qdisc) => qdisc.device === queueDevice.index && qdisc.parent === QDISC_ROOT);
  operations.push(...planBucket(wanted, queueDevice.index, root));
  const [first] = filters;
  if (first?.redirectTo === queueDevice.index) return operations;
  if (hasIngress && first !== undefined) operations.push({ kind: "delete-qdisc", qdisc: ingress });
  if (!hasIngress || first !== undefined) operations.push({ kind: "replace-qdisc", qdisc: ingress });
  operations.push({ kind: "add-redirect", redirect: { device, to: queueDevice.index } });
  return operations;
}
