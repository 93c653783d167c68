import { zstdDecompressSync } from "node:zlib";

const CODEC_ZSTD = 1;
/** Distinct frames that are remembered: clients that are not equally far read different ones. */
const REMEMBERED = 8;
const known: { readonly frame: Buffer; readonly tick: number }[] = [];
let next = 0;

/**
 * The newest tick of which a frame has an update; 0 where it has none. All clients of a process are sent the same frames:
 * each is decoded once, and then found by comparison.
 */
export function newestTick(frame: Buffer): number {
  for (const each of known) if (each.frame.equals(frame)) return each.tick;
  const body = frame[0] === CODEC_ZSTD ? zstdDecompressSync(frame.subarray(1)) : frame;
  let tick = 0;
  for (const [, digits] of body.toString("latin1").matchAll(/t(0\d{8})/g)) tick = Math.max(tick, Number(digits));
  known[next] = { frame: Buffer.from(frame), tick };
  next = (next + 1) % REMEMBERED;
  return tick;
}
