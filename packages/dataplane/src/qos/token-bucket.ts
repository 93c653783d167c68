import type { TokenBucket } from "@bulrush/netlink";
import type { DataplaneWorkloadEndpoint } from "@bulrush/proto";
import type { Direction } from "../render/names.ts";

const BITS = 8;
/** The kernel takes sizes of 32 bits. */
const MAX_BYTES = 0xffffffff;
/** What waits for tokens longer than this is dropped. */
const LATENCY_S = 0.025;
/** A packet has the link's own header beside what the MTU counts (ETH_HLEN). */
const LINK_HEADER_BYTES = 14;

/**
 * The bucket of a workload's bandwidth in one direction, or `undefined` where there is no limit. Controls are in bits (and
 * bits a second), but for the burst at the peak rate, which is in bytes. No bucket is smaller than one packet: that
 * would let nothing through at all.
 */
export function tokenBucketOf(
  controls: DataplaneWorkloadEndpoint["qos_controls"],
  direction: Direction,
  mtu: number,
): TokenBucket | undefined {
  const bandwidth = controls?.[`${direction}Bandwidth`] ?? 0;
  if (bandwidth <= 0) return undefined;
  const onePacket = mtu + LINK_HEADER_BYTES;
  const rate = Math.max(1, Math.floor(bandwidth / BITS));
  const burst = bounded(Math.floor((controls?.[`${direction}Burst`] ?? 0) / BITS), onePacket);
  const peakRate = Math.floor((controls?.[`${direction}Peakrate`] ?? 0) / BITS);
  const limit = Math.min(MAX_BYTES, Math.floor(rate * LATENCY_S) + burst);
  if (peakRate <= rate) return { rate, burst, limit };
  return { rate, burst, limit, peakRate, peakBurst: bounded(controls?.[`${direction}Minburst`] ?? 0, onePacket) };
}

/**
 * True when the kernel's bucket is the wanted one. Bursts are listed as times, and come back a little off; but the limit
 * says the burst as well.
 */
export function isSameBucket(wanted: TokenBucket, present: TokenBucket | undefined): boolean {
  if (present === undefined) return false;
  if (wanted.rate !== present.rate || wanted.limit !== present.limit) return false;
  if (wanted.peakRate === undefined || present.peakRate === undefined) return wanted.peakRate === present.peakRate;
  const tolerance = 2 + 2 * TICK_S * wanted.peakRate;
  return (
    wanted.peakRate === present.peakRate && Math.abs((wanted.peakBurst ?? 0) - (present.peakBurst ?? 0)) <= tolerance
  );
}

/** PSCHED_TICKS2NS: the unit of the times that the kernel lists. */
const TICK_S = 64e-9;

function bounded(bytes: number, least: number): number {
  return Math.min(MAX_BYTES, Math.max(least, bytes));
}
