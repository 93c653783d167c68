import { PROTOCOL_NUMBERS, protocolNumber } from "../v1/protocol.ts";
import { expectedBut } from "./issue.ts";

/** A protocol by number or lower-case name. */
export function protocolProblem(value: unknown): string | undefined {
  return protocolNumber(value) === undefined
    ? expectedBut(`a protocol number from 1 to 255 or one of ${[...PROTOCOL_NUMBERS.keys()].join(", ")}`, value)
    : undefined;
}
