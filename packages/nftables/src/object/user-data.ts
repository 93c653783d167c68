import { invalid } from "../invalid.ts";

/**
 * The notes that nft leaves on objects for itself: {type u8, length u8, value}, repeated (libnftnl's udata).
 */
const RULE_COMMENT = 0;
const SET_KEY_BYTEORDER = 0;
/** enum byteorder of nftables. */
const BYTEORDER = { host: 1, big: 2 } as const;
/** With type, length and NUL this makes 256 (NFT_USERDATA_MAXLEN). */
const MAX_COMMENT_BYTES = 253;

/** Policies number their rules alike: most comments stand in many rules. */
const MAX_KNOWN = 4096;
const known = new Map<string, Uint8Array>();

/** The same bytes each time: not to be changed. */
export function ruleUserData(comment: string): Uint8Array {
  const before = known.get(comment);
  if (before !== undefined) return before;
  if (known.size >= MAX_KNOWN) known.clear();
  const data = encodeComment(comment);
  known.set(comment, data);
  return data;
}

function encodeComment(comment: string): Uint8Array {
  const text = Buffer.from(comment, "utf8");
  if (text.length > MAX_COMMENT_BYTES || text.includes(0)) throw invalid("comment", comment);
  const data = new Uint8Array(text.length + 3);
  data[0] = RULE_COMMENT;
  data[1] = text.length + 1;
  data.set(text, 2);
  return data;
}

/** The comment in a rule's user data, or `undefined`. Data of another form has none. */
export function readComment(data: Uint8Array): string | undefined {
  for (let at = 0; at + 2 <= data.length; ) {
    const length = data[at + 1] ?? 0;
    if (at + 2 + length > data.length) return undefined;
    if (data[at] === RULE_COMMENT) {
      const end = data.indexOf(0, at + 2);
      const limit = at + 2 + length;
      return Buffer.from(data.subarray(at + 2, end < 0 || end > limit ? limit : end)).toString("utf8");
    }
    at += 2 + length;
  }
  return undefined;
}

/**
 * Tells nft how to read the keys of a set. Of a map it says nothing about the data: nft 1.0 aborts when verdicts have a
 * byte order.
 */
export function setUserData(keyOrder: "big" | "host"): Uint8Array {
  return Uint8Array.of(SET_KEY_BYTEORDER, 4, BYTEORDER[keyOrder], 0, 0, 0);
}
