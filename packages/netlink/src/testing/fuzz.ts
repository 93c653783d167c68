import { type Random, seededRandom } from "@bulrush/base";
import { NetlinkError } from "../errors.ts";
import { MessageReader } from "../message/message-reader.ts";

/** The time of one datagram is not bounded by a clock: a reader that loops fails by the test's own time-out. */
const RUNS = 3000;

/**
 * Calls `read` on random datagrams: noise, and messages of these types whose bytes are noise or attributes with random
 * types, nesting and lengths, some of them false. Whatever comes, `read` may throw a NetlinkError only, and must end.
 * A failure names the seed that makes it again.
 */
export function fuzzReader(types: readonly number[], read: (message: MessageReader) => void, firstSeed = 1): void {
  for (let seed = firstSeed; seed < firstSeed + RUNS; seed++) {
    const random = seededRandom(seed);
    const bytes = random() < 0.1 ? noise(random, 200) : datagram(random, types);
    try {
      const reader = new MessageReader(bytes);
      while (reader.next()) read(reader);
    } catch (error) {
      if (!(error instanceof NetlinkError)) throw new Error(`Reader failed with seed ${seed}`, { cause: error });
    }
  }
}

function below(random: Random, limit: number): number {
  return Math.floor(random() * limit);
}

function noise(random: Random, maxLength: number): Uint8Array {
  return Uint8Array.from({ length: below(random, maxLength + 1) }, () => below(random, 256));
}

function datagram(random: Random, types: readonly number[]): Uint8Array {
  // Fixed parts have 4, 8, 12 or 16 bytes; families that exist get a reader further.
  const fixed = Uint8Array.from({ length: below(random, 5) * 4 }, () => below(random, 256));
  if (fixed.length > 0 && random() < 0.8) fixed[0] = [0, 1, 2, 3, 7, 10][below(random, 6)] ?? 0;
  const body = joined([fixed, ...attributes(random, 0)]);
  const bytes = new Uint8Array(16 + body.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length, true);
  view.setUint16(4, types[below(random, types.length)] ?? 0, true);
  view.setUint16(6, below(random, 0x1000), true);
  bytes.set(body, 16);
  return bytes;
}

function attributes(random: Random, depth: number): Uint8Array[] {
  return Array.from({ length: below(random, 6) }, () => {
    const nested = depth < 5 && random() < 0.6;
    const payload = nested ? joined(attributes(random, depth + 1)) : noise(random, 20);
    const bytes = new Uint8Array((payload.length + 4 + 3) & ~3);
    const view = new DataView(bytes.buffer);
    const lie = random() < 0.05 ? below(random, 17) - 8 : 0;
    view.setUint16(0, Math.max(0, payload.length + 4 + lie), true);
    view.setUint16(2, below(random, 32), true);
    bytes.set(payload, 4);
    return bytes;
  });
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
