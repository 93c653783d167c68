import { describeRows, type Row } from "./describe-rows.ts";
import { made } from "./made.ts";

const SELECTORS = ["selector", "notSelector"] as const;

function ingress(rule: object, ...paths: string[]): Row {
  return [
    made("NetworkPolicy", { ingress: [{ action: "Allow", ...rule }] }),
    ...paths.map((path) => `spec.ingress[0]${path === "" ? "" : `.${path}`}`),
  ];
}

function egress(rule: object, ...paths: string[]): Row {
  return [
    made("GlobalNetworkPolicy", { egress: [{ action: "Allow", ...rule }] }),
    ...paths.map((path) => `spec.egress[0]${path === "" ? "" : `.${path}`}`),
  ];
}

describeRows("actions and protocols", [
  ...["Allow", "Deny", "Log", "Pass"].map((action) => ingress({ action })),
  ingress({ action: "allow" }, "action"),
  ingress({ action: undefined }, "action"),
  ingress({ ipVersion: 4 }),
  ingress({ ipVersion: 5 }, "ipVersion"),
  ...["TCP", "udp", "ICMP", "ICMPv6", "SCTP", "UDPLite", 1, 255].map((protocol) => ingress({ protocol })),
  ...["TPC", 0, 256, "6", true].map((protocol) => ingress({ protocol }, "protocol")),
  ingress({ notProtocol: "XYZ" }, "notProtocol"),
  ingress({ sorce: {} }, "sorce"),
  [made("NetworkPolicy", { ingress: [null] }), "spec.ingress[0]"],
  [made("NetworkPolicy", { ingress: ["Allow"] }), "spec.ingress[0]"],
  [made("NetworkPolicy", { ingress: {} }), "spec.ingress"],
]);

describeRows("ICMP", [
  ingress({ protocol: "ICMP", icmp: { type: 254, code: 255 } }),
  ingress({ protocol: "ICMPv6", notICMP: { type: 0 } }),
  ingress({ protocol: 58, icmp: { type: 1 } }),
  ingress({ protocol: "ICMP", icmp: { type: 255 } }, "icmp.type"),
  ingress({ protocol: "ICMP", icmp: { type: 1, code: 256 } }, "icmp.code"),
  ingress({ protocol: "ICMP", icmp: { code: 1 } }, "icmp.code"),
  ingress({ protocol: "TCP", icmp: { type: 1 } }, "icmp"),
  ingress({ icmp: { type: 1 } }, "icmp"),
  ingress({ notICMP: { type: 1 } }, "notICMP"),
]);

describeRows("ports", [
  ingress({ destination: { ports: ["http"] } }),
  ingress({ protocol: "TCP", destination: { ports: [1, 65535, "80", "8000:8999", "http"] } }),
  ingress({ protocol: 17, source: { notPorts: [53] } }),
  ingress({ destination: { ports: [80] } }, "destination.ports[0]"),
  ingress({ source: { notPorts: ["80:90"] } }, "source.notPorts[0]"),
  ingress({ protocol: "TCP", destination: { ports: [0] } }, "destination.ports[0]"),
  ingress({ protocol: "TCP", destination: { ports: [65536] } }, "destination.ports[0]"),
  ingress({ protocol: "TCP", destination: { ports: ["90:80"] } }, "destination.ports[0]"),
  ingress({ protocol: "TCP", destination: { ports: ["two words"] } }, "destination.ports[0]"),
  ingress({ protocol: "TCP", destination: { ports: 80 } }, "destination.ports"),
  ingress({ protocol: 7, destination: { ports: [80] } }, "destination.ports"),
  ingress({ protocol: "ICMP", destination: { ports: ["http"] } }, "destination.ports"),
]);

describeRows("networks", [
  ingress({ source: { nets: ["10.0.0.0/8", "10.0.0.1", "10.0.0.1/32"] } }),
  ingress({ source: { nets: ["fd00::/8"] }, destination: { notNets: ["fd01::/16"] } }),
  ingress({ source: { nets: ["10.2402.0.0/16"] } }, "source.nets[0]"),
  ingress({ source: { nets: ["10.0.0.1/8"] } }, "source.nets[0]"),
  ingress({ source: { nets: ["/55"] } }, "source.nets[0]"),
  ingress({ source: { notNets: ["0.0.0.0/0"] } }, "source.notNets[0]"),
  ingress({ source: { notNets: ["::/0"] } }, "source.notNets[0]"),
  ingress({ source: { nets: ["0.0.0.0/0"] } }),
  ingress({ source: { nets: ["10.0.0.0/8", "fd00::/8"] } }, "source.nets[1]"),
  ingress({ source: { nets: ["10.0.0.0/8"] }, destination: { nets: ["fd00::/8"] } }, "destination.nets[0]"),
  ingress({ ipVersion: 6, source: { nets: ["10.0.0.0/8"] } }, "source.nets[0]"),
  ingress({ ipVersion: 4, source: { nets: ["10.0.0.0/8"] } }),
]);

describeRows("selectors of rules", [
  ...SELECTORS.flatMap((name) => [
    ingress({ source: { [name]: "a == 'b'" } }),
    ingress({ source: { [name]: "" } }),
    ingress({ source: { [name]: "a = 'b'" } }, `source.${name}`),
    ingress({ source: { [name]: "global()" } }, `source.${name}`),
    ingress({ source: { [name]: 5 } }, `source.${name}`),
  ]),
  ingress({ source: { namespaceSelector: "global()" } }),
  ingress({ source: { namespaceSelector: "all()" } }),
  ingress({ source: { namespaceSelector: "!global()" } }, "source.namespaceSelector"),
  ingress({ source: { namespaceSelector: "global() || has(a)" } }, "source.namespaceSelector"),
  ingress({ source: { serviceAccounts: { names: ["default"], selector: "has(a)" } } }),
  ingress({ source: { serviceAccounts: { names: ["No"] } } }, "source.serviceAccounts.names[0]"),
  ingress({ source: { serviceAccounts: { selector: "(" } } }, "source.serviceAccounts.selector"),
  ingress({ source: { serviceAccounts: { selector: "global()" } } }, "source.serviceAccounts.selector"),
  ingress({ source: { serviceAccounts: { name: "default" } } }, "source.serviceAccounts.name"),
  ingress({ source: { label: "a" } }, "source.label"),
]);

describeRows("services", [
  ingress({ source: { services: { name: "svc" } } }),
  ingress({ source: { services: { name: "svc", namespace: "ns" } } }),
  egress({ destination: { services: { name: "svc", namespace: "ns" } } }),
  egress({ destination: { services: { name: "svc" } } }, "destination.services.namespace"),
  ingress({ source: { services: {} } }, "source.services.name"),
  ingress({ destination: { services: { name: "svc" } } }, "destination.services"),
  egress({ source: { services: { name: "svc", namespace: "ns" } } }, "source.services"),
  egress(
    { protocol: "TCP", destination: { services: { name: "svc", namespace: "ns" }, ports: [80] } },
    "destination.ports",
  ),
  ...[
    { nets: ["10.0.0.0/8"] },
    { notNets: ["10.0.0.0/8"] },
    { selector: "has(a)" },
    { notSelector: "has(a)" },
    { namespaceSelector: "all()" },
    { serviceAccounts: { names: ["a"] } },
  ].map((beside) =>
    egress(
      { destination: { services: { name: "svc", namespace: "ns" }, ...beside } },
      `destination.${Object.keys(beside)[0] ?? ""}`,
    ),
  ),
]);

describeRows("HTTP", [
  ingress({ http: { methods: ["GET"], paths: [{ exact: "/a" }, { prefix: "/b" }] } }),
  ingress({ protocol: "TCP", http: { methods: ["GET"] } }),
  ingress({ action: "Deny", http: { methods: ["GET"] } }, "http"),
  ingress({ protocol: "UDP", http: { methods: ["GET"] } }, "http"),
  egress({ http: { methods: ["GET"] } }, "http"),
  ingress({ http: { paths: [{ exact: "/a", prefix: "/b" }] } }, "http.paths[0]"),
  ingress({ http: { paths: [{}] } }, "http.paths[0]"),
  ingress({ http: { methods: [1] } }, "http.methods[0]"),
]);
