import type { PortSpec } from "@bulrush/model";

/** A numeric port range, both ends included, or the name of a port. */
export type KubernetesPort = readonly [low: number, high: number] | string;

/**
 * Ports in their shortest form: named ones first as they came, then numbers in ascending order, with neighbours and
 * overlaps made one range.
 */
export function mergePorts(ports: readonly KubernetesPort[]): PortSpec[] {
  const names = new Set<string>();
  const ranges: (readonly [low: number, high: number])[] = [];
  for (const port of ports) {
    if (typeof port !== "string") ranges.push(port);
    else names.add(port);
  }
  const out: PortSpec[] = [...names];
  if (ranges.length > 1) ranges.sort((a, b) => a[0] - b[0]);
  let [low, high] = ranges[0] ?? [0, 0];
  for (const range of ranges) {
    if (range[0] > high + 1) {
      out.push(portSpec(low, high));
      [low, high] = range;
    } else if (range[1] > high) high = range[1];
  }
  if (ranges.length > 0) out.push(portSpec(low, high));
  return out;
}

function portSpec(low: number, high: number): PortSpec {
  return low === high ? low : `${low}:${high}`;
}
