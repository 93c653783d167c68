import {
  type Address,
  addressBytes,
  addressFromBytes,
  type Cidr,
  formatAddress,
  parseAddress,
  parseCidr,
} from "@bulrush/ip";
import { NETLINK_ERROR_CODES, NetlinkError } from "../errors.ts";
import { AF_INET, AF_INET6 } from "./constants.ts";

/** The error for a value of the caller that cannot be encoded. */
export function badArgument(what: string, value: unknown): NetlinkError {
  return new NetlinkError(`Invalid ${what} '${String(value)}'`, {
    code: NETLINK_ERROR_CODES.argument,
    op: "Build netlink message",
    data: { what, value },
  });
}

export function mustAddress(text: string): Address {
  const address = parseAddress(text);
  if (address === undefined) throw badArgument("address", text);
  return address;
}

export function mustCidr(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw badArgument("CIDR", text);
  return cidr;
}

export function addressBytesOf(text: string): Uint8Array {
  return addressBytes(mustAddress(text));
}

export function kernelFamily(family: 4 | 6): number {
  return family === 4 ? AF_INET : AF_INET6;
}

/** Address text of 4 or 16 bytes; `undefined` for any other length. */
export function addressText(bytes: Uint8Array): string | undefined {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  return bytes.length === 16 ? formatAddress(addressFromBytes(bytes)) : undefined;
}

const MAC = /^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$/;

/** The six bytes of "aa:bb:cc:dd:ee:ff". */
export function macBytes(text: string): Uint8Array {
  if (!MAC.test(text)) throw badArgument("MAC address", text);
  return Uint8Array.from(text.split(":"), (part) => Number.parseInt(part, 16));
}

export function macText(bytes: Uint8Array): string | undefined {
  if (bytes.length !== 6) return undefined;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(":");
}
