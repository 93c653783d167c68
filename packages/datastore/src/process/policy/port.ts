import { type Port, type Protocol, PROTOCOL_NUMBERS } from "@bulrush/model";
import { type Check, wrong } from "@bulrush/model/check";

const NAMED = /^(?=.*[a-z])[a-z0-9](?:-?[a-z0-9])*$/i;

/**
 * A port as it is written in v3 (`80`, `"80"`, `"80:90"`, a name) in v1 form, or undefined if it is none. A range of
 * one port becomes a number.
 */
export function readPort(value: unknown): Port | undefined {
  if (typeof value === "number") return isPortNumber(value) ? value : undefined;
  if (typeof value !== "string") return undefined;
  const range = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(value);
  if (range !== null) {
    const low = Number(range[1]);
    const high = range[2] === undefined ? low : Number(range[2]);
    if (!isPortNumber(low) || !isPortNumber(high) || low > high) return undefined;
    return low === high ? low : `${low}:${high}`;
  }
  return value.length <= 63 && NAMED.test(value) ? value : undefined;
}

function isPortNumber(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= 65535;
}

/** True for a number or a range. */
export function isNumericPort(port: Port): boolean {
  return typeof port === "number" || port.includes(":");
}

/** A protocol as it is written in v3 (a name in any case, a number) in v1 form, or undefined if it is none. */
export function readProtocol(value: unknown): Protocol | undefined {
  const number = typeof value === "string" && /^\d{1,3}$/.test(value) ? Number(value) : value;
  if (typeof number === "number") return Number.isInteger(number) && number >= 1 && number <= 255 ? number : undefined;
  if (typeof number !== "string") return undefined;
  const name = number.toLowerCase();
  return PROTOCOL_NUMBERS.has(name) ? name : undefined;
}

export const port: Check = (value) =>
  readPort(value) === undefined
    ? wrong(`Expected a port, a range "low:high" or a port name, found ${JSON.stringify(value)}`)
    : undefined;

export const protocol: Check = (value) =>
  readProtocol(value) === undefined
    ? wrong(`Expected a protocol number or TCP, UDP, ICMP, ICMPv6, SCTP or UDPLite, found ${JSON.stringify(value)}`)
    : undefined;
