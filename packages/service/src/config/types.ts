import type { ParameterType, ParseResult } from "./parameter.ts";

const ok = <T>(value: T): ParseResult<T> => ({ ok: true, value });
const bad = (problem: string): ParseResult<never> => ({ ok: false, problem });

const TRUE_WORDS: ReadonlySet<string> = new Set(["true", "1", "yes", "y", "t"]);
const FALSE_WORDS: ReadonlySet<string> = new Set(["false", "0", "no", "n", "f"]);

/** true, 1, yes, y, t or false, 0, no, n, f, in any case. Zero: false. */
export function bool(): ParameterType<boolean> {
  return {
    label: "boolean",
    zero: false,
    parse(text) {
      const word = text.toLowerCase();
      if (TRUE_WORDS.has(word)) return ok(true);
      if (FALSE_WORDS.has(word)) return ok(false);
      return bad("is not a boolean (true, false, yes, no, 1, 0)");
    },
    format: String,
  };
}

const INT32_MIN = -2147483648;
const INT32_MAX = 2147483647;

/** Both ends are inclusive. */
export interface IntRange {
  /** Default: the smallest 32-bit integer. */
  readonly min?: number;
  /** Default: the largest 32-bit integer. */
  readonly max?: number;
}

/** A whole number of 32 bits in a range, both ends included; 0x, 0o and 0b prefixes, and a leading 0 for octal. Zero: 0. */
export function int(range: IntRange = {}): ParameterType<number> {
  const min = range.min ?? INT32_MIN;
  const max = range.max ?? INT32_MAX;
  const label =
    range.min === undefined && range.max === undefined
      ? "integer"
      : range.max === undefined
        ? `integer, ${min} or more`
        : `integer, ${min} to ${max}`;
  return {
    label,
    zero: 0,
    parse(text) {
      const value = parseInteger(text);
      if (value === undefined) return bad("is not a whole number");
      if (value < min || value > max) return bad(`is outside ${min} to ${max}`);
      return ok(value);
    },
    format: String,
  };
}

/** A whole number as Go reads it with base 0; undefined when it is none. */
export function parseInteger(text: string): number | undefined {
  const match = /^([+-]?)(?:0x([0-9a-f]+)|0b([01]+)|0o([0-7]+)|(0[0-7]+)|(0|[1-9][0-9]*))$/i.exec(text);
  if (match === null) return undefined;
  const [, sign, hex, binary, octal, oldOctal, decimal] = match;
  const magnitude =
    hex !== undefined
      ? Number.parseInt(hex, 16)
      : binary !== undefined
        ? Number.parseInt(binary, 2)
        : octal !== undefined || oldOctal !== undefined
          ? Number.parseInt(octal ?? oldOctal ?? "", 8)
          : Number(decimal);
  return sign === "-" ? -magnitude + 0 : magnitude;
}

/** A port: 0 to 65535. Zero: 0. */
export function port(): ParameterType<number> {
  return { ...int({ min: 0, max: 65535 }), label: "port, 0 to 65535" };
}

/** Seconds, with fractions; negative numbers are numbers too. The value stays in seconds. Zero: 0. */
export function seconds(): ParameterType<number> {
  return {
    label: "seconds",
    zero: 0,
    parse(text) {
      if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return bad("is not a number of seconds");
      const value = Number(text);
      return Number.isFinite(value) ? ok(value) : bad("is not a number of seconds");
    },
    format: String,
  };
}

/** One of these words in any case; the value is in the spelling given here. Zero: "". */
export function oneOf<W extends string>(words: readonly W[]): ParameterType<W | ""> {
  const byLowerCase = new Map(words.map((word) => [word.toLowerCase(), word]));
  return {
    label: `one of ${words.join(", ")}`,
    zero: "",
    acceptsNone: byLowerCase.has("none"),
    parse(text) {
      const word = byLowerCase.get(text.toLowerCase());
      return word === undefined ? bad(`is not one of ${words.join(", ")}`) : ok(word);
    },
    format: (value) => value,
  };
}

/** Any text. Zero: "". */
export function text(): ParameterType<string> {
  return { label: "text", zero: "", parse: ok, format: (value) => value };
}

/**
 * `host:port` with a host that has neither `:` nor `/`; with `ipv6`, an IPv6 address in brackets too, which upstream
 * does not take. Zero: "".
 */
export function authority(options: { readonly ipv6?: boolean } = {}): ParameterType<string> {
  const pattern = options.ipv6 === true ? /^([^:/[\]]+|\[[0-9a-f:.]+\]):\d+$/i : /^[^:/]+:\d+$/;
  return {
    label: "host:port",
    zero: "",
    parse: (value) => (pattern.test(value) ? ok(value) : bad("is not host:port")),
    format: (value) => value,
  };
}

/** A host name or an address: 1 to 64 of letters, digits and `: . _ + -`. Zero: "", which means all addresses. */
export function host(): ParameterType<string> {
  return {
    label: "host name or address",
    zero: "",
    parse: (value) => (/^[a-zA-Z0-9:._+-]{1,64}$/.test(value) ? ok(value) : bad("is not a host name or an address")),
    format: (value) => value,
  };
}

/** Comma-separated URLs of one scheme with nothing but scheme, host and port; each value ends in `/`. Zero: none. */
export function endpointList(): ParameterType<readonly string[]> {
  return {
    label: "comma-separated URLs of one scheme",
    zero: [],
    parse(value) {
      const urls: string[] = [];
      let scheme: string | undefined;
      for (const part of splitList(value)) {
        const match = /^([a-z][a-z0-9+.-]*):\/\/([^/?#@:\s]+|\[[0-9a-f:.%]+\]):(\d+)\/?$/i.exec(part);
        const [, partScheme, partHost, partPort] = match ?? [];
        if (partScheme === undefined || Number(partPort) > 65535)
          return bad(`has "${part}", which is not scheme://host:port`);
        if (scheme !== undefined && scheme !== partScheme.toLowerCase()) return bad("mixes schemes");
        scheme = partScheme.toLowerCase();
        urls.push(`${scheme}://${partHost}:${partPort}/`);
      }
      return ok(urls);
    },
    format: (value) => value.join(","),
  };
}

/** A path; with `mustExist`, of something that can be stat'ed. Zero: "". */
export function file(options: { readonly mustExist: boolean }): ParameterType<string> {
  return {
    label: options.mustExist ? "path of a file that exists" : "path",
    zero: "",
    parse(value, context) {
      if (options.mustExist && !context.fileExists(value)) return bad("does not exist");
      return ok(value);
    },
    format: (value) => value,
  };
}

/** Comma-separated texts, blanks skipped. Zero: none. */
export function textList(): ParameterType<readonly string[]> {
  return {
    label: "comma-separated list",
    zero: [],
    parse: (value) => ok(splitList(value)),
    format: (value) => value.join(","),
  };
}

/** `name=value` pairs separated by commas. Zero: none. */
export function textMap(): ParameterType<ReadonlyMap<string, string>> {
  return {
    label: "comma-separated name=value pairs",
    zero: new Map(),
    parse(value) {
      const map = new Map<string, string>();
      for (const part of splitList(value)) {
        const at = part.indexOf("=");
        if (at <= 0) return bad(`has "${part}", which is not name=value`);
        map.set(part.slice(0, at).trim(), part.slice(at + 1).trim());
      }
      return ok(map);
    },
    format: (value) => [...value].map(([name, part]) => `${name}=${part}`).join(","),
  };
}

/** The type, or undefined where the setting is unset. `none` and the default mean unset. */
export function optional<T>(type: ParameterType<T>): ParameterType<T | undefined> {
  return {
    label: type.label,
    zero: undefined,
    parse: (value, context) => type.parse(value, context),
    format: (value) => (value === undefined ? "" : type.format(value)),
  };
}

function splitList(value: string): string[] {
  return value
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
