import type { Sequence, Step } from "./sequence.ts";

/**
 * A shorter sequence that still fails: leaves out ever smaller runs of steps, then fields of values and entries of
 * their lists, as long as `fails` says yes. At most `budget` tries.
 */
export function shrink(sequence: Sequence, fails: (sequence: Sequence) => boolean, budget = 3000): Sequence {
  let best = sequence;
  let left = budget;
  const accept = (steps: readonly Step[]): boolean => {
    if (left-- <= 0) return false;
    const next = { ...best, steps };
    if (!fails(next)) return false;
    best = next;
    return true;
  };
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = best.steps.length - size; at >= 0; at -= size)
      accept([...best.steps.slice(0, at), ...best.steps.slice(at + size)]);
  for (let at = 0; at < best.steps.length; at++) {
    let again = true;
    while (again && left > 0) {
      again = false;
      const step = best.steps[at];
      if (step === undefined || !("set" in step)) break;
      for (const value of smaller(step.set.value)) {
        const next: Step = { set: { key: step.set.key, value: value as typeof step.set.value } };
        again = accept([...best.steps.slice(0, at), next, ...best.steps.slice(at + 1)]);
        if (again) break;
      }
    }
  }
  return best;
}

/** Fields that a value of some kind always has. */
const REQUIRED: ReadonlySet<string> = new Set(
  [
    "state name profile_ids ipv4_nets ipv6_nets labels expected_ipv4_addrs expected_ipv6_addrs nets port",
    "int_ip ext_ip tier selector inbound_rules outbound_rules defaultAction apiVersion kind metadata namespace",
    "addressType address type cidr ipip ipip_mode vxlan_mode masquerade ipam disabled disableBGPExport",
    "assignment_mode allowed_uses allocations attributes unallocated",
  ].flatMap((line) => line.split(" ")),
);

/** Values with one thing less. */
function* smaller(value: unknown): Generator<unknown> {
  if (value instanceof Map) {
    for (const key of value.keys()) yield new Map([...value].filter(([other]) => other !== key));
  } else if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) yield value.toSpliced(i, 1);
    for (let i = 0; i < value.length; i++) for (const one of smaller(value[i])) yield value.toSpliced(i, 1, one);
  } else if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    for (const [field] of entries)
      if (!REQUIRED.has(field)) yield Object.fromEntries(entries.filter(([other]) => other !== field));
    for (const [field, old] of entries) for (const one of smaller(old)) yield { ...value, [field]: one };
  }
}
