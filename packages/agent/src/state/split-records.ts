import { hasCode } from "@bulrush/base";
import type { Update } from "@bulrush/model";

const MAX_UPDATES = 500;

/** Records of some updates each, in order; fewer where a frame would be too big. Throws what `make` throws for one. */
export function recordsOf(updates: readonly Update[], make: (part: readonly Update[]) => Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let start = 0; start < updates.length; start += MAX_UPDATES)
    records.push(...recordsOfPart(updates.slice(start, start + MAX_UPDATES), make));
  return records;
}

function recordsOfPart(part: readonly Update[], make: (part: readonly Update[]) => Buffer): Buffer[] {
  try {
    return [make(part)];
  } catch (error) {
    if (part.length < 2 || !hasCode(error, "PROTO_TOO_BIG")) throw error;
    const half = part.length >> 1;
    return [...recordsOfPart(part.slice(0, half), make), ...recordsOfPart(part.slice(half), make)];
  }
}
