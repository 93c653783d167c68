import type { PortSpec } from "@bulrush/model";

/** A numeric port range, both ends included, or the name of a port. */
export type KubernetesPort = readonly [low: number, high: number] | string;

/**
 * Ports in their shortest form: named ones first as they came, then numbers in ascending order, with neighbours and
 * overlaps made one range.
 */
export function mergePorts(ports: readonly KubernetesPort[]): PortSpec[] {
  const names = [...new Set(ports.filter((port) => typeof port === "string"))];
  const ranges = ports.filter((port) => typeof port !== "string").sort((a, b) => a[0] - b[0]);
  const merged: [number, number][] = [];
  for (const [low, high] of ranges) {
    const last = merged.at(-1);
    if (last !== undefined && low <= last[1] + 1) last[1] = Math.max(last[1], high);
    else merged.push([low, high]);
  }
  return [...names, ...merged.map(([low, high]): PortSpec => (low === high ? low : `${low}:${high}`))];
}
