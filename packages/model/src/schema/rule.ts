import { net, port, protocol, selector } from "./common.ts";
import { integer, listOf, mapOf, object, type ObjectShape, oneOf, type OpenApi, type Rule, text } from "./shape.ts";

const SIDE_FIELDS = {
  nets: listOf(net),
  notNets: listOf(text({ formats: ["cidr", "ipv4", "ipv6"], pattern: "^([^/]*|.*/[0-9]*[1-9][0-9]*)$" })),
  selector: selector(),
  notSelector: selector(),
  namespaceSelector: selector(),
  services: object({ name: text(), namespace: text() }),
  ports: listOf(port),
  notPorts: listOf(port),
  serviceAccounts: object({ names: listOf(text()), selector: selector() }),
};

/** What may not stand beside a service: its members and ports come from its endpoints. */
const BESIDE_SERVICES = ["selector", "notSelector", "namespaceSelector"] as const;
const LISTS_BESIDE_SERVICES = ["nets", "notNets", "ports", "notPorts"] as const;

/** One side of a rule. */
export const entityRule: ObjectShape = object(SIDE_FIELDS, {
  rules: [
    {
      cel: `!has(self.services) || (${[
        ...BESIDE_SERVICES.map((name) => `(!has(self.${name}) || self.${name} == '')`),
        ...LISTS_BESIDE_SERVICES.map((name) => `(!has(self.${name}) || size(self.${name}) == 0)`),
        "!has(self.serviceAccounts)",
      ].join(" && ")})`,
      message: "services excludes selectors, nets, service accounts and ports",
    },
  ],
});

const icmp: ObjectShape = object(
  { type: integer(0, 254), code: integer(0, 255) },
  { rules: [{ cel: "!has(self.code) || has(self.type)", message: "a code needs a type" }] },
);

/**
 * The protocol is one of these, as text in the cases that people write, or as a number. Each is compared by itself:
 * what an API server reckons for a comparison ends with the constant, and for lowerAscii() with the longest text.
 */
function isProtocol(...protocols: readonly (readonly [name: string, number: number])[]): string {
  const values = protocols.flatMap(([name, number]) => {
    const names = new Set([name, name.toLowerCase(), name.toUpperCase(), String(number)]);
    return [...[...names].map((text) => `'${text}'`), String(number)];
  });
  return values.map((value) => `self.protocol == ${value}`).join(" || ");
}

const CONDITIONS: readonly Rule[] = [
  {
    cel: `!(has(self.icmp) || has(self.notICMP)) || (has(self.protocol) && (${isProtocol(["ICMP", 1], ["ICMPv6", 58])}))`,
    message: "ICMP fields need protocol ICMP or ICMPv6",
  },
  {
    cel: `!has(self.http) || !has(self.protocol) || ${isProtocol(["TCP", 6])}`,
    message: "HTTP conditions need protocol TCP",
  },
  { cel: "!has(self.http) || self.action == 'Allow'", message: "HTTP conditions need action Allow" },
];

const PORT_FIELDS = ["ports", "notPorts"] as const;
const SIDES = ["source", "destination"] as const;

const WITH_PORTS: Rule = {
  cel: `!has(self.protocol) || ${isProtocol(["TCP", 6], ["UDP", 17], ["SCTP", 132])} || !(${SIDES.flatMap((side) =>
    PORT_FIELDS.map((name) => `(has(self.${side}) && has(self.${side}.${name}) && size(self.${side}.${name}) > 0)`),
  ).join(" || ")})`,
  message: "ports need protocol TCP, UDP or SCTP",
};

/** Holds for a name: no number, and not all digits. */
const NAMED: OpenApi = { maximum: -1, pattern: "[A-Za-z]" };

/** A numeric port needs a protocol; a name brings its own. */
const NUMERIC_PORTS: readonly OpenApi[] = [
  { required: ["protocol"] },
  {
    properties: Object.fromEntries(
      SIDES.map((side) => [
        side,
        { properties: Object.fromEntries(PORT_FIELDS.map((name) => [name, { items: NAMED }])) },
      ]),
    ),
  },
];

const INGRESS: Rule = {
  cel: "!has(self.destination) || !has(self.destination.services)",
  message: "in an ingress rule a service may only stand in the source",
};
const EGRESS: readonly Rule[] = [
  {
    cel: "!has(self.source) || !has(self.source.services)",
    message: "in an egress rule a service may only stand in the destination",
  },
  { cel: "!has(self.http)", message: "HTTP conditions may only stand in an ingress rule" },
];

function rule(more: readonly Rule[]): ObjectShape {
  return object(
    {
      action: oneOf(["Allow", "Deny", "Log", "Pass"]),
      ipVersion: integer(4, 6, { rules: [{ cel: "self != 5", message: "expected 4 or 6" }] }),
      protocol,
      notProtocol: protocol,
      icmp,
      notICMP: icmp,
      source: entityRule,
      destination: entityRule,
      http: object({
        methods: listOf(text()),
        paths: listOf(object({ exact: text(), prefix: text() })),
      }),
      metadata: object({ annotations: mapOf(text()) }),
    },
    { required: ["action"], rules: [...CONDITIONS, WITH_PORTS, ...more], anyOf: NUMERIC_PORTS },
  );
}

/** A rule for what comes in. */
export const ingressRule: ObjectShape = rule([INGRESS]);
/** A rule for what goes out. */
export const egressRule: ObjectShape = rule(EGRESS);

/**
 * More rules than any policy has that can be stored: an API server weighs conditions by the number of things that they
 * may have to look at.
 */
export const MAX_RULES = 10_000;
