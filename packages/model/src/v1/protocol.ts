/** Protocol numbers (IANA) of the names that rules may use. */
export const PROTOCOL_NUMBERS: ReadonlyMap<string, number> = new Map([
  ["icmp", 1],
  ["tcp", 6],
  ["udp", 17],
  ["icmpv6", 58],
  ["sctp", 132],
  ["udplite", 136],
]);

/** TCP, UDP and SCTP: what rules may have ports for. */
const WITH_PORTS: ReadonlySet<number> = new Set([6, 17, 132]);

/** The number of a protocol given by number or lower-case name; undefined for what is neither. */
export function protocolNumber(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isInteger(value) && value >= 1 && value <= 255 ? value : undefined;
  return typeof value === "string" ? PROTOCOL_NUMBERS.get(value) : undefined;
}

/** True for TCP, UDP and SCTP, by name or number. */
export function hasPorts(value: unknown): boolean {
  const number = protocolNumber(value);
  return number !== undefined && WITH_PORTS.has(number);
}
