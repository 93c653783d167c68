import type { Flow, FlowEnd } from "@bulrush/calc";
import { formatAddress, parseAddress } from "@bulrush/ip";
import { hasPorts, PROTOCOL_NUMBERS, protocolNumber } from "@bulrush/model";
import type { AskedFlow } from "./messages.ts";

/** The flow that was typed, or what is wrong with it. `isKnown` tells pods. */
export function parseAskedFlow(asked: AskedFlow, isKnown: (workload: string) => boolean): Flow | string {
  const source = parseEnd(asked.from, "From", isKnown);
  if (typeof source === "string") return source;
  const destination = parseEnd(asked.to, "To", isKnown);
  if (typeof destination === "string") return destination;
  const protocol = parseProtocol(asked.protocol);
  if (protocol === undefined) return `Protocol is '${asked.protocol}', expected a name such as tcp, or a number to 255`;
  if (!hasPorts(protocol)) return { source, destination, protocol };
  const port = /^\d{1,5}$/.test(asked.port.trim()) ? Number(asked.port) : NaN;
  if (!(port <= 65535)) return `Port is '${asked.port}', expected a number from 0 to 65535`;
  return { source, destination, protocol, port };
}

function parseEnd(text: string, field: string, isKnown: (workload: string) => boolean): FlowEnd | string {
  const name = text.trim();
  if (name === "") return `${field} is empty: a pod as namespace/name, or an address`;
  const address = parseAddress(name);
  if (address !== undefined) return { address: formatAddress(address) };
  if (isKnown(name)) return { workload: name };
  return name.includes("/")
    ? `${field} is '${name}': there is no such pod in the snapshot`
    : `${field} is '${name}': neither namespace/name nor an address`;
}

function parseProtocol(text: string): string | number | undefined {
  const name = text.trim().toLowerCase();
  if (PROTOCOL_NUMBERS.has(name)) return name;
  return /^\d{1,3}$/.test(name) ? protocolNumber(Number(name)) : undefined;
}
