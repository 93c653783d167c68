import { parseDurationNs } from "@bulrush/base";
import { canonicalCidr } from "@bulrush/ip";
import { isObject } from "@bulrush/model";
import { capitalise, parameterName } from "./field-name.ts";

/** Text of a parameter; null: unset; undefined: the field cannot be read. */
export type FieldText = string | null | undefined;

type Format = (value: unknown) => FieldText;

/** `[]` is a setting: no port at all. */
const failsafePorts: Format = (value) => {
  if (!Array.isArray(value)) return undefined;
  if (value.length === 0) return "none";
  const items = value.map((entry: unknown) => {
    const { protocol, port, net } = isObject(entry) ? entry : {};
    if (typeof port !== "number") return undefined;
    const name = typeof protocol === "string" && protocol !== "" ? protocol.toLowerCase() : "tcp";
    if (net === undefined || net === null || net === "") return `${name}:${port}`;
    const cidr = typeof net === "string" ? canonicalCidr(net) : undefined;
    if (cidr === undefined) return undefined;
    return cidr.includes(":") ? `${name}:[${cidr}]:${port}` : `${name}:${cidr}:${port}`;
  });
  return items.every((item) => item !== undefined) ? items.join(",") : undefined;
};

const routeTableRange: Format = (value) => {
  const { min, max } = isObject(value) ? value : {};
  return typeof min === "number" && typeof max === "number" ? `${min}-${max}` : undefined;
};

const routeTableRanges: Format = (value) => {
  if (!Array.isArray(value)) return undefined;
  const ranges = value.map(routeTableRange);
  return ranges.every((range) => range !== undefined) ? ranges.join(",") || null : undefined;
};

const healthTimeoutOverrides: Format = (value) => {
  if (!Array.isArray(value)) return undefined;
  const items = value.map((entry: unknown) => {
    const { name, timeout } = isObject(entry) ? entry : {};
    return typeof name === "string" && typeof timeout === "string" ? `${name}=${timeout}` : undefined;
  });
  return items.every((item) => item !== undefined) ? items.join(",") || null : undefined;
};

const fieldList: Format = (value) =>
  isObject(value)
    ? Object.entries(value)
        .filter(([, entry]) => entry !== null && entry !== undefined)
        .map(([name, entry]) => `${capitalise(name)}=${String(entry)}`)
        .join(",") || null
    : undefined;

const SPECIAL: Readonly<Record<string, Format>> = {
  failsafeInboundHostPorts: failsafePorts,
  failsafeOutboundHostPorts: failsafePorts,
  routeTableRange,
  routeTableRanges,
  healthTimeoutOverrides,
  bpfConntrackTimeouts: fieldList,
};

/** Fields of this form hold durations; all other strings are taken as they are. */
const DURATION_FIELD = /(?:Interval|Timeout|TTL|Delay|KeepAlive|Period|After|Time)$/;

function durationText(field: string, text: string): string {
  const ns = DURATION_FIELD.test(field) ? parseDurationNs(text) : undefined;
  if (ns === undefined) return text;
  return String(parameterName(field).endsWith("Millis") ? ns / 1e6 : ns / 1e9);
}

/** The text that a field of a configuration resource gives its parameter. */
export function fieldText(field: string, value: unknown): FieldText {
  if (value === null || value === undefined) return null;
  const special = Object.hasOwn(SPECIAL, field) ? SPECIAL[field] : undefined;
  if (special !== undefined) return special(value);
  switch (typeof value) {
    case "string":
      return value === "" ? null : durationText(field, value);
    case "boolean":
    case "number":
      return String(value);
    default:
  }
  if (Array.isArray(value)) {
    const isPlain = value.every((entry) => typeof entry === "string" || typeof entry === "number");
    return isPlain ? value.join(",") || null : undefined;
  }
  if (!isObject(value) || !Object.values(value).every((entry) => typeof entry === "string")) return undefined;
  // Sorted, so that equal maps give equal text.
  const pairs = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return pairs.map(([name, entry]) => `${name}=${String(entry)},`).join("") || null;
}
