import { PROTOCOL_NUMBERS, protocolNumber } from "@bulrush/model";
import type { Flow, FlowEnd } from "./flow.ts";
import type { KnownEnds } from "./known-ends.ts";

/** A flow as the user writes it, on the command line or in a line of a file. Names as in the file. */
export interface FlowText {
  readonly from: unknown;
  readonly to: unknown;
  readonly protocol: unknown;
  readonly port?: unknown;
  readonly sourcePort?: unknown;
  readonly icmpType?: unknown;
  readonly icmpCode?: unknown;
  readonly ipVersion?: unknown;
}

export type ParsedFlow = { readonly flow: Flow } | { readonly problem: string };

/** What a packet of these carries ports in; a rule may ask only for those of the first three. */
const WITH_PORTS: ReadonlySet<string> = new Set(["tcp", "udp", "sctp", "udplite"]);
const NAME_OF: ReadonlyMap<number, string> = new Map([...PROTOCOL_NUMBERS].map(([name, number]) => [number, name]));

/** Checks a flow; never throws. */
export function parseFlow(text: FlowText, ends: KnownEnds): ParsedFlow {
  const source = parseEnd(text.from, "from", ends);
  if (typeof source === "string") return { problem: source };
  const destination = parseEnd(text.to, "to", ends);
  if (typeof destination === "string") return { problem: destination };
  const protocol = parseProtocol(text.protocol);
  if (protocol === undefined)
    return {
      problem: `Unknown protocol ${JSON.stringify(text.protocol)}; expected ${[...PROTOCOL_NUMBERS.keys()].join(", ")} or a number`,
    };
  const numbers: Record<string, number> = {};
  for (const [name, value, max] of [
    ["port", text.port, 65535],
    ["sourcePort", text.sourcePort, 65535],
    ["icmpType", text.icmpType, 255],
    ["icmpCode", text.icmpCode, 255],
  ] as const) {
    if (value === undefined || value === null || value === "") continue;
    const number =
      typeof value === "number" ? value : typeof value === "string" && /^\d{1,5}$/.test(value) ? Number(value) : NaN;
    if (!Number.isInteger(number) || number < 0 || number > max)
      return { problem: `Bad ${name} ${JSON.stringify(value)}; expected a number from 0 to ${max}` };
    numbers[name] = number;
  }
  const { port, sourcePort, icmpType, icmpCode } = numbers;
  const name = typeof protocol === "number" ? NAME_OF.get(protocol) : protocol;
  if (name !== undefined && WITH_PORTS.has(name) && port === undefined)
    return { problem: `A flow of protocol ${name} needs a port` };
  const ipVersion = parseIpVersion(text.ipVersion);
  if (ipVersion === "bad") return { problem: `Bad IP version ${JSON.stringify(text.ipVersion)}; expected 4 or 6` };
  const icmp =
    icmpType === undefined ? undefined : { type: icmpType, ...(icmpCode !== undefined && { code: icmpCode }) };
  return {
    flow: {
      source,
      destination,
      protocol,
      ...(port !== undefined && { port }),
      ...(sourcePort !== undefined && { sourcePort }),
      ...(icmp !== undefined && { icmp }),
      ...(ipVersion !== undefined && { ipVersion }),
    },
  };
}

/** An end that is known. A problem otherwise. */
function parseEnd(value: unknown, field: string, ends: KnownEnds): FlowEnd | string {
  if (typeof value !== "string" || value === "")
    return `No "${field}" in the flow; expected namespace/pod, an address, node:NAME or hostendpoint:NODE/NAME`;
  const end = ends.find(value, field);
  return "problem" in end ? end.problem : end;
}

function parseProtocol(value: unknown): string | number | undefined {
  const number =
    typeof value === "number"
      ? value
      : typeof value === "string" && /^\d{1,3}$/.test(value)
        ? Number(value)
        : undefined;
  if (number !== undefined) return protocolNumber(number);
  const name = typeof value === "string" ? value.toLowerCase() : "";
  return PROTOCOL_NUMBERS.has(name) ? name : undefined;
}

function parseIpVersion(value: unknown): 4 | 6 | undefined | "bad" {
  if (value === undefined || value === null || value === "") return undefined;
  const text = String(value as string | number);
  return text === "4" ? 4 : text === "6" ? 6 : "bad";
}
