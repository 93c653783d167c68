/** Protocols that nft knows by keyword, whatever /etc/protocols says. */
const NUMBERS: ReadonlyMap<string, number> = new Map([
  ["icmp", 1],
  ["tcp", 6],
  ["udp", 17],
  ["dccp", 33],
  ["esp", 50],
  ["ah", 51],
  ["icmpv6", 58],
  ["comp", 108],
  ["sctp", 132],
  ["udplite", 136],
]);
const NAMES: ReadonlyMap<number, string> = new Map(Array.from(NUMBERS, ([name, number]) => [number, name]));

/** The number of a protocol given by name or number, or `undefined`. */
export function protocolNumber(value: string | number): number | undefined {
  if (typeof value === "number") return value >= 0 && value <= 255 && Number.isInteger(value) ? value : undefined;
  const named = NUMBERS.get(value);
  if (named !== undefined) return named;
  return /^(0|[1-9][0-9]{0,2})$/.test(value) ? protocolNumber(Number(value)) : undefined;
}

/** The name where nft has a keyword for it, else the number. */
export function protocolText(number: number): string {
  return NAMES.get(number) ?? String(number);
}
