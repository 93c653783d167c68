import type { EntityRule, PortSpec, RuleSpec } from "@bulrush/model";
import { type Choices, definedFields } from "./choices.ts";
import { randomAccountSelector, randomNamespaceSelector, randomSelector } from "./random-selector.ts";
import {
  EVERYTHING,
  FIRST_SOURCE_PORT,
  LAST_SOURCE_PORT,
  NAMESPACES,
  NETS,
  PORT_NAMES,
  SERVICE_ACCOUNTS,
  UNUSED_PORT_NAME,
} from "./vocabulary.ts";

export const SERVICES = ["shop", "till"] as const;

export interface RulePlace {
  readonly direction: "ingress" | "egress";
  readonly namespaced: boolean;
}

interface SideContext {
  readonly role: "source" | "destination";
  readonly place: RulePlace;
  /** The rule's networks are all of one family. */
  readonly family: 4 | 6;
  /** Which ports the rule's protocol lets a side have. */
  readonly ports: "any" | "names" | "none";
}

const PORT_PROTOCOLS = ["TCP", "UDP", "SCTP", 6, 17, 132] as const;
const OTHER_PROTOCOLS = ["ICMP", "ICMPv6", "UDPLite", 1, 58, 47] as const;

/** One rule of a Calico policy: every field has its chance, and none is likely, so that most rules match something. */
export function randomRule(choices: Choices, place: RulePlace): RuleSpec {
  const withPorts = choices.chance(0.45);
  const protocol = withPorts
    ? choices.pick([...PORT_PROTOCOLS, "TCP" as const, "UDP" as const])
    : choices.maybe(0.2, () => choices.pick(OTHER_PROTOCOLS));
  const family: 4 | 6 = choices.chance(0.5) ? 4 : 6;
  const ports = withPorts ? "any" : protocol === undefined ? "names" : "none";
  const hasIcmp = protocol === "ICMP" || protocol === 1 || protocol === "ICMPv6" || protocol === 58;
  const icmp = (): { type: number; code?: number } =>
    definedFields({ type: choices.pick([0, 8, 128, 129]), code: choices.maybe(0.5, () => choices.below(2)) }) as {
      type: number;
    };
  return definedFields({
    action: choices.pick(["Allow", "Allow", "Allow", "Deny", "Deny", "Pass", "Log"] as const),
    ipVersion: choices.maybe(0.08, () => family),
    protocol,
    notProtocol: choices.maybe(0.08, () => choices.pick([...PORT_PROTOCOLS, ...OTHER_PROTOCOLS])),
    icmp: hasIcmp ? choices.maybe(0.5, icmp) : undefined,
    notICMP: hasIcmp ? choices.maybe(0.25, icmp) : undefined,
    source: choices.maybe(0.75, () => randomSide(choices, { role: "source", place, family, ports })),
    destination: choices.maybe(0.75, () => randomSide(choices, { role: "destination", place, family, ports })),
    metadata: choices.maybe(0.05, () => ({ annotations: { why: 'it\'s "so"; \u00e9 {x}' } })),
  });
}

function randomSide(choices: Choices, context: SideContext): EntityRule {
  const { family, place, ports, role } = context;
  const mayNameServices = role === (place.direction === "ingress" ? "source" : "destination");
  if (mayNameServices && choices.chance(0.12)) {
    const namespace = choices.pick(NAMESPACES);
    const isOwn = place.namespaced && choices.chance(0.4);
    return { services: { name: choices.pick(SERVICES), ...(isOwn ? {} : { namespace }) } };
  }
  const nets = [...NETS[family], EVERYTHING[family]];
  return definedFields({
    nets: choices.maybe(0.2, () => choices.some(nets, 1, choices.chance(0.2) ? 12 : 3)),
    notNets: choices.maybe(0.12, () => choices.some(NETS[family], 1, 2)),
    selector: choices.maybe(0.4, () => randomSelector(choices)),
    notSelector: choices.maybe(0.15, () => randomSelector(choices)),
    namespaceSelector: choices.maybe(0.2, () =>
      choices.chance(0.2) ? "global()" : choices.chance(0.2) ? "all()" : randomNamespaceSelector(choices),
    ),
    serviceAccounts: choices.maybe(0.12, () =>
      definedFields({
        names: choices.maybe(0.6, () => choices.some(SERVICE_ACCOUNTS, 1, 2)),
        selector: choices.maybe(0.5, () => randomAccountSelector(choices)),
      }),
    ),
    ports: ports === "none" ? undefined : choices.maybe(0.4, () => randomPorts(choices, role, ports === "any")),
    notPorts: ports === "none" ? undefined : choices.maybe(0.15, () => randomPorts(choices, role, ports === "any")),
  });
}

function randomPorts(choices: Choices, role: SideContext["role"], mayBeNumeric: boolean): PortSpec[] {
  const names = choices.some([...PORT_NAMES, UNUSED_PORT_NAME], mayBeNumeric ? 0 : 1, 2);
  if (!mayBeNumeric) return names;
  const numbers: PortSpec[] =
    role === "destination"
      ? choices.some([80, 81, 8080, "80:81", "81:9000", "1:65535", 443], 1, 3)
      : choices.some(
          [
            `${FIRST_SOURCE_PORT}:${choices.between(FIRST_SOURCE_PORT, LAST_SOURCE_PORT)}`,
            `${choices.between(FIRST_SOURCE_PORT, LAST_SOURCE_PORT)}:${LAST_SOURCE_PORT}`,
            80,
            "80:81",
            "1:65535",
          ],
          1,
          2,
        );
  // More than one match can hold; every second one, so that they do not melt into ranges.
  if (choices.chance(0.15)) for (let i = 0; i < 20; i++) numbers.push(choices.between(30, 45) * 2 + 1);
  return [...numbers, ...names];
}
