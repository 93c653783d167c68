import { integer, integerOrText, type IntegerShape, object, oneOf, type Shape, text, type TextShape } from "./shape.ts";

/** A selector expression. Whether it can be parsed is beyond a schema: validation and the syncer say so. */
export function selector(about?: string): TextShape {
  return text(about === undefined ? {} : { about });
}

/** A network or an address, of either family. */
export const net: TextShape = text({ formats: ["cidr", "ipv4", "ipv6"] });

/** A number, a range `low:high`, or a name. */
export const port: Shape = integerOrText({
  min: 1,
  max: 65_535,
  pattern: "^([1-9][0-9]{0,4}(:[0-9]{1,5})?|[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)$",
});

/** A code point (RFC 2474) by its number, or by its name in any case. */
export const dscp: Shape = integerOrText({
  min: 0,
  max: 63,
  pattern: "^([1-5]?[0-9]|6[0-3]|[Dd][Ff]|[Ee][Ff]|[Aa][Ff][1-4][1-3]|[Cc][Ss][0-7])$",
});

/** The number of a port that something listens on. */
export const portNumber: IntegerShape = integer(1, 65_535);

/** A number from 1 to 255, or a name in any case. */
export const protocol: Shape = integerOrText({
  min: 1,
  max: 255,
  pattern:
    "^([0-9]{1,3}|[Tt][Cc][Pp]|[Uu][Dd][Pp]|[Ii][Cc][Mm][Pp]|[Ii][Cc][Mm][Pp][Vv]6|[Ss][Cc][Tt][Pp]|[Uu][Dd][Pp][Ll][Ii][Tt][Ee])$",
});

/** `64512`, "64512" or "0.64512" (RFC 5396). */
export const asNumber: Shape = integerOrText({ min: 0, max: 4_294_967_295, pattern: "^[0-9]{0,10}(\\.[0-9]{1,5})?$" });

/** As `1m30s`. */
export const duration: TextShape = text({ pattern: "^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h)|0)*$" });

/** Where the password of a BGP session is kept. */
export const password: Shape = object({
  secretKeyRef: object({ name: text(), key: text(), optional: { type: "boolean" } }, { required: ["key"] }),
});

/** On or off, as upstream writes it. */
export const switched: TextShape = oneOf(["Enabled", "Disabled"]);
