import { formatKey, type Key, type Update, type Value } from "@bulrush/model";

/** An update as a syncer gives it, new. */
export function newUpdate(key: Key, value: Value): Update {
  return { key, path: fresh(formatKey(key)), value, revision: "1", type: "new" };
}

/** A string that shares nothing with any other, as a decoder makes it. */
export function fresh(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}

/**
 * The n-th address of the reference workload: a 32-bit counter from 0x0a000001 in the first four bytes of an
 * IPv4-mapped address, so in truth an IPv6 one (`a00:1::ffff:0:0`).
 */
export function nthAddress(n: number): string {
  const word = (0x0a000000 + n) >>> 0;
  const low = word & 0xffff;
  const head = (word >>> 16).toString(16);
  return fresh(low === 0 ? `${head}::ffff:0:0` : `${head}:${low.toString(16)}::ffff:0:0`);
}

/** The n-th address from 10.0.0.1 upward. */
export function ipv4Address(n: number): string {
  return fresh(`10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`);
}

/** Profile rules and the profile with its labels, as the syncer sends them for a namespace. */
export function profileUpdates(name: string, labels: Readonly<Record<string, string>>): Update[] {
  const resource = {
    apiVersion: "projectcalico.org/v3",
    kind: "Profile",
    metadata: { name },
    spec: { labelsToApply: labels },
  };
  return [
    newUpdate({ type: "ProfileRules", name }, { inbound_rules: [], outbound_rules: [] }),
    newUpdate({ type: "Resource", kind: "Profile", namespace: "", name }, resource),
  ];
}
