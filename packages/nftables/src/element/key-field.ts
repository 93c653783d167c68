import { addressBytes, addressFromBytes, formatAddress, parseAddress } from "@bulrush/ip";
import type { KeyField } from "../state.ts";
import { bigEndian, ifnameBytes, littleEndian } from "../wire/bytes.ts";
import { DATATYPE } from "../wire/datatype.ts";
import { protocolNumber, protocolText } from "../wire/protocol.ts";

/** How one field of a set's key looks in bytes and in text. */
export interface KeyFieldShape {
  readonly datatype: number;
  readonly bytes: number;
  readonly order: "big" | "host";
  /** `undefined` for text that is no value of the field. */
  readonly encode: (text: string) => Uint8Array | undefined;
  /** Canonical text of exactly `bytes` bytes. */
  readonly decode: (bytes: Uint8Array) => string;
}

function unsigned(text: string, max: number): number | undefined {
  if (!/^(0|[1-9][0-9]*)$/.test(text)) return undefined;
  const value = Number(text);
  return value <= max ? value : undefined;
}

function encodeAddress(family: 4 | 6): (text: string) => Uint8Array | undefined {
  return (text) => {
    const address = parseAddress(text);
    return address?.family === family ? addressBytes(address) : undefined;
  };
}

function numberOf(bytes: Uint8Array): number {
  let value = 0;
  for (const byte of bytes) value = value * 256 + byte;
  return value;
}

const SHAPES: Readonly<Record<KeyField, KeyFieldShape>> = {
  ipv4_addr: {
    datatype: DATATYPE.ipv4_addr,
    bytes: 4,
    order: "big",
    encode: encodeAddress(4),
    decode: (bytes) => `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`,
  },
  ipv6_addr: {
    datatype: DATATYPE.ipv6_addr,
    bytes: 16,
    order: "big",
    encode: encodeAddress(6),
    decode: (bytes) => formatAddress(addressFromBytes(bytes)),
  },
  inet_proto: {
    datatype: DATATYPE.inet_proto,
    bytes: 1,
    order: "big",
    encode: (text) => {
      const number = protocolNumber(text);
      return number === undefined ? undefined : Uint8Array.of(number);
    },
    decode: (bytes) => protocolText(bytes[0] ?? 0),
  },
  inet_service: {
    datatype: DATATYPE.inet_service,
    bytes: 2,
    order: "big",
    encode: (text) => {
      const port = unsigned(text, 0xffff);
      return port === undefined ? undefined : bigEndian(port, 2);
    },
    decode: (bytes) => String(numberOf(bytes)),
  },
  ifname: {
    datatype: DATATYPE.ifname,
    bytes: 16,
    order: "host",
    encode: ifnameBytes,
    decode: (bytes) => {
      const end = bytes.indexOf(0);
      return Buffer.from(bytes.subarray(0, end < 0 ? bytes.length : end)).toString("utf8");
    },
  },
  mark: {
    datatype: DATATYPE.mark,
    bytes: 4,
    order: "host",
    encode: (text) => {
      const value = /^0x[0-9a-f]{1,8}$/.test(text) ? Number(text) : unsigned(text, 0xffffffff);
      return value === undefined ? undefined : littleEndian(value, 4);
    },
    decode: (bytes) => `0x${numberOf(bytes.slice().reverse()).toString(16).padStart(8, "0")}`,
  },
};

export function keyFieldShape(field: KeyField): KeyFieldShape {
  return SHAPES[field];
}

/** The field with this datatype number, or `undefined` for one that we never use. */
export function keyFieldOf(datatype: number): KeyField | undefined {
  for (const [field, shape] of Object.entries(SHAPES)) if (shape.datatype === datatype) return field as KeyField;
  return undefined;
}
