import { canonicalCidr } from "@bulrush/ip";
import type { FailsafePort } from "./dataplane-config.ts";
import type { Field } from "./field.ts";

/** Ports of the failsafe lists when nothing is set: a host that cuts these off cannot be repaired from outside. */
export const DEFAULT_FAILSAFE_INBOUND: readonly FailsafePort[] = [
  ...[22, 179, 2379, 2380, 5473, 6443, 6666, 6667].map((port): FailsafePort => ({ protocol: "tcp", port })),
  { protocol: "udp", port: 68 },
];

export const DEFAULT_FAILSAFE_OUTBOUND: readonly FailsafePort[] = [
  { protocol: "udp", port: 53 },
  { protocol: "udp", port: 67 },
  ...[179, 2379, 2380, 5473, 6443, 6666, 6667].map((port): FailsafePort => ({ protocol: "tcp", port })),
];

/** Reads `tcp:22,udp:68,tcp:10.0.0.0/8:443,6443` (no protocol: tcp; IPv6 networks in brackets or bare). */
export function readFailsafePorts(text: string): Field<readonly FailsafePort[]> {
  const ports: FailsafePort[] = [];
  for (const entry of text.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const port = readEntry(entry);
    if (port === undefined) return { problem: `holds "${entry}", which is not [protocol:][network:]port` };
    ports.push(port);
  }
  return { value: ports };
}

function readEntry(entry: string): FailsafePort | undefined {
  const parts = /^(?:(tcp|udp|sctp):)?(?:(.+):)?([0-9]{1,5})$/i.exec(entry);
  if (parts === null) return undefined;
  const port = Number(parts[3]);
  if (port > 65535) return undefined;
  const protocol = (parts[1]?.toLowerCase() ?? "tcp") as FailsafePort["protocol"];
  if (parts[2] === undefined) return { protocol, port };
  const net = canonicalCidr(parts[2].replace(/^\[(.*)\]$/, "$1"));
  return net === undefined ? undefined : { protocol, port, net };
}
