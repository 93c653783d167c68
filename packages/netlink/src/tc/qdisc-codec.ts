import type { AttributeReader } from "../message/attribute-reader.ts";
import type { MessageReader } from "../message/message-reader.ts";
import type { MessageWriter } from "../message/message-writer.ts";
import { AF_UNSPEC } from "../route/constants.ts";
import { badArgument } from "../route/text-codec.ts";
import { INGRESS_HANDLE, type Qdisc, QDISC_INGRESS, QDISC_ROOT, type QdiscSpec, type TokenBucket } from "./qdisc.ts";

/** linux/rtnetlink.h; `struct tcmsg` has 20 bytes. */
export const TCA = { KIND: 1, OPTIONS: 2 } as const;
export const TC_BODY_BYTES = 20;

/** linux/pkt_sched.h */
const TCA_TBF = { PARMS: 1, RATE64: 4, PRATE64: 5, BURST: 6, PBURST: 7 } as const;
/** `struct tc_tbf_qopt`: two of `struct tc_ratespec` (12 bytes), limit, buffer and mtu. */
const TBF_PARMS_BYTES = 36;
const TC_LINKLAYER_ETHERNET = 1;

/** PSCHED_TICKS2NS: the kernel tells times in ticks of 64 ns. */
const TICK_NS = 64;
const MAX_U32 = 0xffffffff;

/** `struct tcmsg`. */
export function writeTcBody(writer: MessageWriter, device: number, handle: number, parent: number, info = 0): void {
  writer.u8(AF_UNSPEC);
  writer.u8(0);
  writer.u16(0);
  writer.u32(device);
  writer.u32(handle);
  writer.u32(parent);
  writer.u32(info);
}

export function writeQdisc(writer: MessageWriter, qdisc: QdiscSpec): void {
  writeQdiscSelector(writer, qdisc);
  if (qdisc.kind === "tbf") writeTokenBucket(writer, qdisc.bucket);
}

/** Which qdisc: that of its kind at its place. A delete of another kind is refused. */
export function writeQdiscSelector(writer: MessageWriter, { device, kind }: Pick<QdiscSpec, "device" | "kind">): void {
  if (device <= 0) throw badArgument("interface index", device);
  if (kind === "ingress") writeTcBody(writer, device, INGRESS_HANDLE, QDISC_INGRESS);
  else writeTcBody(writer, device, 0, QDISC_ROOT);
  writer.attrString(TCA.KIND, kind);
}

/**
 * With a link layer that is named, the kernel needs no table of transmission times; buckets are given in bytes, and
 * rates above 32 bits in an attribute of their own, with all ones in the old place.
 */
function writeTokenBucket(writer: MessageWriter, { burst, limit, peakBurst, peakRate, rate }: TokenBucket): void {
  if (!(rate >= 1 && Number.isSafeInteger(rate))) throw badArgument("rate", rate);
  if (!(burst >= 1 && burst <= MAX_U32)) throw badArgument("burst", burst);
  if (!(limit >= 1 && limit <= MAX_U32)) throw badArgument("limit", limit);
  if (peakRate !== undefined && !(peakRate > rate && Number.isSafeInteger(peakRate)))
    throw badArgument("peak rate", peakRate);
  if (peakRate !== undefined && !(peakBurst !== undefined && peakBurst >= 1 && peakBurst <= MAX_U32))
    throw badArgument("burst at the peak rate", peakBurst);
  const options = writer.nest(TCA.OPTIONS);
  const parms = new Uint8Array(TBF_PARMS_BYTES);
  const view = new DataView(parms.buffer);
  for (const [at, value] of [
    [0, rate],
    [12, peakRate ?? 0],
  ] as const) {
    view.setUint8(at + 1, value === 0 ? 0 : TC_LINKLAYER_ETHERNET);
    view.setUint32(at + 8, Math.min(value, MAX_U32), true);
  }
  view.setUint32(24, limit, true);
  view.setUint32(28, ticks(burst, rate), true);
  view.setUint32(32, peakRate === undefined ? 0 : ticks(peakBurst ?? 0, peakRate), true);
  writer.attrBytes(TCA_TBF.PARMS, parms);
  writer.attrU32(TCA_TBF.BURST, burst);
  if (rate > MAX_U32) writer.attrU64(TCA_TBF.RATE64, rate);
  if (peakRate !== undefined) {
    if (peakRate > MAX_U32) writer.attrU64(TCA_TBF.PRATE64, peakRate);
    writer.attrU32(TCA_TBF.PBURST, peakBurst ?? 0);
  }
  writer.endNest(options);
}

export function decodeQdisc(message: MessageReader): Qdisc {
  const qdisc: { -readonly [K in keyof Qdisc]: Qdisc[K] } = {
    device: message.i32(4),
    kind: "",
    handle: message.u32(8),
    parent: message.u32(12),
  };
  const attributes = message.attributes(TC_BODY_BYTES);
  // The kind comes first (tc_fill_qdisc).
  while (attributes.next())
    if (attributes.type === TCA.KIND) qdisc.kind = attributes.string();
    else if (attributes.type === TCA.OPTIONS && qdisc.kind === "tbf") {
      const bucket = decodeTokenBucket(attributes.nested());
      if (bucket !== undefined) qdisc.bucket = bucket;
    }
  return qdisc;
}

function decodeTokenBucket(attributes: AttributeReader): TokenBucket | undefined {
  let parms: DataView | undefined;
  let rate64: bigint | undefined;
  let peakRate64: bigint | undefined;
  while (attributes.next())
    if (attributes.type === TCA_TBF.RATE64) rate64 = attributes.u64();
    else if (attributes.type === TCA_TBF.PRATE64) peakRate64 = attributes.u64();
    else if (attributes.type === TCA_TBF.PARMS && attributes.length >= TBF_PARMS_BYTES) {
      const bytes = attributes.bytes();
      parms = new DataView(bytes.buffer, bytes.byteOffset, TBF_PARMS_BYTES);
    }
  if (parms === undefined) return undefined;
  const rate = Number(rate64 ?? parms.getUint32(8, true));
  const peakRate = Number(peakRate64 ?? parms.getUint32(20, true));
  return {
    rate,
    limit: parms.getUint32(24, true),
    burst: bytesOf(parms.getUint32(28, true), rate),
    ...(peakRate === 0 ? {} : { peakRate, peakBurst: bytesOf(parms.getUint32(32, true), peakRate) }),
  };
}

/** How long so many bytes take, in ticks, of which the kernel shows 32 bits. */
function ticks(bytes: number, rate: number): number {
  return Math.min(MAX_U32, Math.floor((bytes * 1e9) / rate / TICK_NS));
}

function bytesOf(count: number, rate: number): number {
  return Math.round((count * TICK_NS * rate) / 1e9);
}
