import { hex } from "../wire/hex.ts";

/** An expression of a foreign rule that we never write: kept as bytes, so that it compares unequal to all of ours. */
export interface UnknownExpression {
  readonly name: "unknown";
  readonly kernelName: string;
  readonly data: Uint8Array;
}

export function unknownKey(unknown: UnknownExpression): string {
  return `unknown ${unknown.kernelName} ${hex(unknown.data)}`;
}
