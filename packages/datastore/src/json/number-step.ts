const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const LETTER_E = 0x65;

/** How far a number has come (RFC 8259, section 6). */
export type NumberPlace = "sign" | "zero" | "whole" | "point" | "fraction" | "power" | "power-sign" | "power-digits";

/** Makes a letter of ASCII small. */
const SMALL_BIT = 0x20;

/** Where a number stands after its first byte; undefined for one that begins no number. */
export function beginNumber(byte: number): NumberPlace | undefined {
  return byte === MINUS ? "sign" : isDigit(byte) ? nextPlace("sign", byte) : undefined;
}

/** Where a number stands after another byte of it; undefined for one that does not go on with it. */
export function nextPlace(place: NumberPlace, byte: number): NumberPlace | undefined {
  if (isDigit(byte)) {
    switch (place) {
      case "sign":
        return byte === DIGIT_0 ? "zero" : "whole";
      case "zero":
        return undefined;
      case "point":
        return "fraction";
      case "power":
      case "power-sign":
        return "power-digits";
      default:
        return place;
    }
  }
  const isWhole = place === "zero" || place === "whole";
  if (byte === DOT) return isWhole ? "point" : undefined;
  if ((byte | SMALL_BIT) === LETTER_E) return isWhole || place === "fraction" ? "power" : undefined;
  return (byte === PLUS || byte === MINUS) && place === "power" ? "power-sign" : undefined;
}

export function mayEnd(place: NumberPlace): boolean {
  return place === "zero" || place === "whole" || place === "fraction" || place === "power-digits";
}

function isDigit(byte: number): boolean {
  return byte >= DIGIT_0 && byte <= DIGIT_9;
}
