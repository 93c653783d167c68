/** True for a WireGuard public key: the 32 bytes of a Curve25519 point in base64 (44 characters). */
export function isWireguardKey(value: unknown): value is string {
  return typeof value === "string" && /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/.test(value);
}

/**
 * An AS number from 1 to 4294967295, given as a number, its text, or the text `high.low` (RFC 5396); undefined for
 * anything else. A number with a fraction is none: `1.10` without quotes has lost its zero.
 */
export function parseAsNumber(value: unknown): number | undefined {
  const text = Number.isInteger(value) ? String(value) : typeof value === "string" ? value : "";
  const dotted = /^([0-9]{1,5})\.([0-9]{1,5})$/.exec(text);
  let number = /^[0-9]{1,10}$/.test(text) ? Number(text) : 0;
  if (dotted !== null && Number(dotted[1]) <= 65_535 && Number(dotted[2]) <= 65_535)
    number = Number(dotted[1]) * 65_536 + Number(dotted[2]);
  return number >= 1 && number <= 0xffff_ffff ? number : undefined;
}
