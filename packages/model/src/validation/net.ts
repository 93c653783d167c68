import { type Cidr, type Family, isMasked, parseAddress, parseCidr } from "@bulrush/ip";
import { expectedBut } from "./issue.ts";

/** A network or an address, of `family` if given, host bits allowed. */
export function netProblem(value: unknown, family?: Family): string | undefined {
  const cidr = typeof value === "string" ? parseCidr(value) : undefined;
  if (cidr !== undefined && (family === undefined || cidr.family === family)) return undefined;
  return expectedBut(`an ${family === undefined ? "IP" : `IPv${family}`} network or address`, value);
}

/** A network whose host bits are zero, or an address. */
export function maskedNetProblem(value: unknown): string | undefined {
  const problem = netProblem(value);
  if (problem !== undefined) return problem;
  const cidr = parseCidr(value as string) as Cidr;
  return isMasked(cidr) ? undefined : expectedBut("a network without host bits", value);
}

/** A plain address, of `family` if given. */
export function addressProblem(value: unknown, family?: Family): string | undefined {
  const address = typeof value === "string" ? parseAddress(value) : undefined;
  if (address !== undefined && (family === undefined || address.family === family)) return undefined;
  return expectedBut(`an ${family === undefined ? "IP" : `IPv${family}`} address`, value);
}

/** The text of a network as a Cidr, or undefined. */
export function readNet(value: unknown): Cidr | undefined {
  return typeof value === "string" ? parseCidr(value) : undefined;
}
