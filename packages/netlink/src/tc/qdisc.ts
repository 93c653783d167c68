/** How fast packets may leave by a token bucket (tc-tbf). All sizes in bytes, link headers included. */
export interface TokenBucket {
  /** Bytes a second. Above 0. */
  readonly rate: number;
  /** The bucket: what may go at once. No packet may be larger. */
  readonly burst: number;
  /** What may wait, tokens or none; more is dropped. */
  readonly limit: number;
  /** Bytes a second at which the burst itself goes; above `rate`. Absent: as fast as the device does. */
  readonly peakRate?: number;
  /** The second bucket, of `peakRate`: no packet may be larger. Only with a peak rate. */
  readonly peakBurst?: number;
}

/** Where the kernel's own handles stand: the root of what leaves, and what arrives (linux/pkt_sched.h). */
export const QDISC_ROOT = 0xffffffff;
/** TC_H_INGRESS of linux/pkt_sched.h. */
export const QDISC_INGRESS = 0xfffffff1;
/** The handle of the one ingress qdisc of a device, `ffff:`, which filters name as their parent. */
export const INGRESS_HANDLE = 0xffff0000;

/** A queueing discipline to write: a token bucket at the root, or the place where filters see what arrives. */
export type QdiscSpec =
  | { readonly kind: "tbf"; readonly device: number; readonly bucket: TokenBucket }
  | { readonly kind: "ingress"; readonly device: number };

/** A queueing discipline as the kernel lists it. */
export interface Qdisc {
  readonly device: number;
  /** "tbf", "ingress", "noqueue", "fq_codel". */
  readonly kind: string;
  readonly handle: number;
  /** {@link QDISC_ROOT}, {@link QDISC_INGRESS}, or the class that it hangs on. */
  readonly parent: number;
  /** Of kind "tbf". Bursts come back within a tick (64 ns at the rate) of what was set. */
  readonly bucket?: TokenBucket;
}

/** Sends everything that arrives at a device to another device's queue instead. Needs the device's ingress qdisc. */
export interface Redirect {
  readonly device: number;
  readonly to: number;
}

/** A filter of a device's ingress qdisc as the kernel lists it. */
export interface Filter {
  readonly device: number;
  /** "u32", "bpf", "matchall". */
  readonly kind: string;
  /** Index of the device that it redirects to, where it does. */
  readonly redirectTo?: number;
}
