import { parseDurationNs } from "@bulrush/base";
import { canonicalCidr } from "@bulrush/ip";
import { CONNTRACK_TIMERS, FELIX_FIELDS, type FelixForm, hasPorts, isObject, parseDscp } from "@bulrush/model";
import { capitalise } from "./field-name.ts";

/** Text of a parameter; null: unset; undefined: the field cannot be read. */
export type FieldText = string | null | undefined;

type Format = (value: unknown) => FieldText;

function lowerCase(text: unknown): string {
  return typeof text === "string" ? text.toLowerCase() : "";
}

/** `[]` is a setting: no port at all. */
const failsafePorts: Format = (value) => {
  if (!Array.isArray(value)) return undefined;
  if (value.length === 0) return "none";
  const items = value.map((entry: unknown) => {
    const { protocol, port, net } = isObject(entry) ? entry : {};
    if (!Number.isInteger(port) || Number(port) < 0 || Number(port) > 65_535) return undefined;
    const name = protocol === undefined || protocol === null || protocol === "" ? "tcp" : lowerCase(protocol);
    if (!hasPorts(name)) return undefined;
    if (net === undefined || net === null || net === "") return `${name}:${String(port)}`;
    const cidr = typeof net === "string" ? canonicalCidr(net) : undefined;
    if (cidr === undefined) return undefined;
    return cidr.includes(":") ? `${name}:[${cidr}]:${String(port)}` : `${name}:${cidr}:${String(port)}`;
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

const conntrackTimeouts: Format = (value) => {
  if (!isObject(value)) return undefined;
  const items = Object.entries(value).flatMap(([timer, timeout]) => {
    if (timeout === null || timeout === undefined || timeout === "") return [];
    return [typeof timeout === "string" ? `${CONNTRACK_TIMERS.get(timer) ?? capitalise(timer)}=${timeout}` : undefined];
  });
  return items.every((item) => item !== undefined) ? items.join(",") || null : undefined;
};

/** A duration as a number of units of `unitNs`. */
function durationIn(unitNs: number): Format {
  return (value) => {
    if (value === "") return null;
    const ns = typeof value === "string" ? parseDurationNs(value) : undefined;
    return ns === undefined ? undefined : String(ns / unitNs);
  };
}

const plain: Format = (value) => {
  switch (typeof value) {
    case "string":
      return value === "" ? null : value;
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
};

/** Plainly, but only what is of this type: `interfacePrefix: 5` is a slip, and no prefix. */
function onlyIf(isRight: (value: unknown) => boolean): Format {
  return (value) => (isRight(value) ? plain(value) : undefined);
}

/** Forms that not every value has; all others are printed plainly. */
const FORMS: Readonly<Partial<Record<FelixForm, Format>>> = {
  text: onlyIf((value) => typeof value === "string"),
  boolean: onlyIf((value) => typeof value === "boolean"),
  integer: onlyIf(Number.isInteger),
  dscp: onlyIf((value) => parseDscp(value) !== undefined),
  duration: durationIn(1e9),
  "duration-ms": durationIn(1e6),
  "failsafe-ports": failsafePorts,
  "table-range": routeTableRange,
  "table-ranges": routeTableRanges,
  "health-timeouts": healthTimeoutOverrides,
  "conntrack-timeouts": conntrackTimeouts,
};

/** The text that a field of a configuration resource gives its parameter; a field that is not known, plainly. */
export function fieldText(field: string, value: unknown): FieldText {
  if (value === null || value === undefined) return null;
  const form = FELIX_FIELDS.get(field)?.form;
  return ((form === undefined ? undefined : FORMS[form]) ?? plain)(value);
}
