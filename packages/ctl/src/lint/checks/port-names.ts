import { isObject, type JsonObject } from "@bulrush/model";
import type { LintContext } from "../context.ts";
import type { PolicyView, RuleView } from "../policy-view.ts";
import type { Warning } from "../warning.ts";

interface NamedPort {
  readonly field: string;
  readonly name: string;
  /** Lower case; "" for any. */
  readonly protocol: string;
}

/** Port names that no pod or endpoint has. */
export function* portNameWarnings({ policies, population }: LintContext): Iterable<Warning> {
  if (!population.hasEndpoints) return;
  const has = (members: typeof population.members, { name, protocol }: NamedPort): boolean =>
    members.some(({ ports }) =>
      ports.some((port) => port.name === name && (protocol === "" || port.protocol === protocol)),
    );
  for (const policy of policies) {
    for (const { rules } of policy.directions) {
      for (const port of rules.flatMap((rule) => namedPorts(policy, rule))) {
        if (has(population.members, port)) continue;
        const kind = port.protocol === "" ? "" : ` ${port.protocol.toUpperCase()}`;
        const where = has(population.hostNetwork, port) ? "only pods on their host's network have" : "no pod here has";
        const message = `The rule matches nothing through it: ${where} a${kind} port named "${port.name}"`;
        yield { code: "unknown-port-name", entry: policy.entry, field: port.field, message };
      }
    }
  }
}

function namedPorts({ key, isCalico }: PolicyView, { field, written }: RuleView): readonly NamedPort[] {
  if (isCalico) {
    const protocol = typeof written["protocol"] === "string" ? written["protocol"].toLowerCase() : "";
    return ["source", "destination"].flatMap((side) =>
      listOf(written[side], "ports").flatMap((port, i) => named(`${field}.${side}.ports[${i}]`, port, protocol)),
    );
  }
  if (key.kind === "KubernetesClusterNetworkPolicy") {
    return listOf(written, "protocols").flatMap((one, i) =>
      isObject(one) ? named(`${field}.protocols[${i}].destinationNamedPort`, one["destinationNamedPort"], "") : [],
    );
  }
  return listOf(written, "ports").flatMap((one, i) => {
    const { port, protocol } = isObject(one) ? one : {};
    return named(`${field}.ports[${i}].port`, port, typeof protocol === "string" ? protocol.toLowerCase() : "tcp");
  });
}

function named(field: string, port: unknown, protocol: string): readonly NamedPort[] {
  return typeof port === "string" && /[a-z]/i.test(port) ? [{ field, name: port, protocol }] : [];
}

function listOf(value: unknown, name: string): readonly unknown[] {
  const list = isObject(value) ? (value satisfies JsonObject)[name] : undefined;
  return Array.isArray(list) ? list : [];
}
