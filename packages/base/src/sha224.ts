const ENCODER = new TextEncoder();

/** SHA-224 and SHA-256: FIPS 180-4, sections 4.2.2, 5.3.2 and 6.2. */
const BLOCK = 64;
const DIGEST = 28;
const LENGTH_FIELD = 8;
// biome-ignore format: a table
const ROUND_CONSTANTS: Int32Array = Int32Array.of(
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
);
// biome-ignore format: a table
const START: Int32Array = Int32Array.of(
  0xc1059ed8, 0x367cd507, 0x3070dd17, 0xf70e5939, 0xffc00b31, 0x68581511, 0x64f98fa7, 0xbefa4fa4,
);

// Working space, kept: ids are hashes of short texts, by the hundred thousand, and a call lasts for two microseconds.
const schedule = new Int32Array(BLOCK);
const state = new Int32Array(START.length);
let message = new Uint8Array(16 * BLOCK);

/**
 * SHA-224 of bytes, or of the UTF-8 bytes of text: 28 bytes. Runs in a browser too. For ids, not for secrets: the
 * working space is not wiped.
 */
export function sha224(data: Uint8Array | string): Uint8Array {
  const end = pad(data);
  state.set(START);
  for (let at = 0; at < end; at += BLOCK) compress(at);
  const digest = new Uint8Array(DIGEST);
  for (let i = 0; i < DIGEST; i++) digest[i] = (state[i >> 2] as number) >>> (24 - 8 * (i & 3));
  return digest;
}

/** Fills `message`: data, a one, zeros, and the length in bits up to the end of a block. Returns the end. */
function pad(data: Uint8Array | string): number {
  // A UTF-16 unit takes three bytes at most.
  const most = (typeof data === "string" ? 3 : 1) * data.length + BLOCK + LENGTH_FIELD + 1;
  if (message.length < most) message = new Uint8Array(2 * most);
  let length = data.length;
  if (typeof data === "string") length = ENCODER.encodeInto(data, message).written;
  else message.set(data);
  const end = Math.ceil((length + 1 + LENGTH_FIELD) / BLOCK) * BLOCK;
  message.fill(0, length, end);
  message[length] = 0x80;
  for (let at = end - 1, bits = 8 * length; bits > 0; at--, bits = Math.floor(bits / 256)) message[at] = bits % 256;
  return end;
}

/** Takes the block at `at` of `message` into `state`. */
function compress(at: number): void {
  for (let i = 0, from = at; i < 16; i++, from += 4)
    schedule[i] =
      ((message[from] as number) << 24) |
      ((message[from + 1] as number) << 16) |
      ((message[from + 2] as number) << 8) |
      (message[from + 3] as number);
  for (let i = 16; i < BLOCK; i++) {
    const x = schedule[i - 15] as number;
    const y = schedule[i - 2] as number;
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    schedule[i] = ((schedule[i - 16] as number) + s0 + (schedule[i - 7] as number) + s1) | 0;
  }
  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  let e = state[4] as number;
  let f = state[5] as number;
  let g = state[6] as number;
  let h = state[7] as number;
  for (let i = 0; i < BLOCK; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (ROUND_CONSTANTS[i] as number) + (schedule[i] as number)) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  // A typed array takes sums modulo 2^32.
  state[0] = (state[0] as number) + a;
  state[1] = (state[1] as number) + b;
  state[2] = (state[2] as number) + c;
  state[3] = (state[3] as number) + d;
  state[4] = (state[4] as number) + e;
  state[5] = (state[5] as number) + f;
  state[6] = (state[6] as number) + g;
  state[7] = (state[7] as number) + h;
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const CODES: readonly number[] = Array.from(ALPHABET, (character) => character.charCodeAt(0));

/** Unpadded base64url (RFC 4648 section 5). For ids: at most some thousand bytes. */
export function base64Url(bytes: Uint8Array): string {
  // From character codes, so that the text is one string and not a chain of pieces.
  const codes: number[] = [];
  for (let i = 0; i < bytes.length; i += 3) {
    const [a = 0, b, c] = [bytes[i], bytes[i + 1], bytes[i + 2]];
    codes.push(CODES[a >>> 2] as number, CODES[((a & 3) << 4) | ((b ?? 0) >>> 4)] as number);
    if (b !== undefined) codes.push(CODES[((b & 15) << 2) | ((c ?? 0) >>> 6)] as number);
    if (c !== undefined) codes.push(CODES[c & 63] as number);
  }
  return String.fromCharCode(...codes);
}
