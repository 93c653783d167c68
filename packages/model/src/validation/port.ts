import { expectedBut } from "./issue.ts";
import { portNameProblem } from "./name.ts";

/** A port of a rule, read. */
export type ReadPort =
  | { readonly type: "range"; readonly first: number; readonly last: number }
  | { readonly type: "name"; readonly name: string };

const NUMBER = /^[0-9]{1,9}$/;
const RANGE = /^([0-9]{1,9}):([0-9]{1,9})$/;

/** Reads `80`, `"80"`, `"8000:8999"` or a name; the message where it is none of them. */
export function readPort(value: unknown): ReadPort | string {
  if (typeof value === "number") return readRange(value, value, value);
  if (typeof value !== "string") return expectedBut("a port", value);
  if (NUMBER.test(value)) return readRange(Number(value), Number(value), value);
  const range = RANGE.exec(value);
  if (range !== null) return readRange(Number(range[1]), Number(range[2]), value);
  return portNameProblem(value) === undefined
    ? { type: "name", name: value }
    : expectedBut("a port from 1 to 65535, a range first:last, or a port name", value);
}

function readRange(first: number, last: number, found: unknown): ReadPort | string {
  if (!Number.isInteger(first) || first < 1 || last > 65535) return expectedBut("ports from 1 to 65535", found);
  if (first > last) return expectedBut("a range with first <= last", found);
  return { type: "range", first, last };
}
