import { allow, gnp, type LintRow, knp, np, pod, PODS, SHOP, V3, WEB, web } from "./manifests.ts";

function service(port: number, targetPort: number | string, selector: object = { app: "web" }): object {
  const metadata = { name: "web", namespace: "shop" };
  return { apiVersion: "v1", kind: "Service", metadata, spec: { selector, ports: [{ port, targetPort }] } };
}

function host(spec: object = {}): object {
  const metadata = { name: "h", labels: { role: "host" } };
  return { apiVersion: V3, kind: "HostEndpoint", metadata, spec: { node: "n", interfaceName: "eth0", ...spec } };
}

function felix(spec: object): object {
  return { apiVersion: V3, kind: "FelixConfiguration", metadata: { name: "default" }, spec };
}

const GUARD = gnp("guard", { selector: "role == 'host'", ingress: [allow], egress: [allow] });
const ON_8443 = { podSelector: { matchLabels: { app: "web" } }, ingress: [{ ports: [{ port: 8443 }] }] };
const TO_WEB = { podSelector: { matchLabels: { app: "web" } } };
const SSH = { protocol: "TCP", port: 22 };
const TYPHA = { protocol: "TCP", port: 5473 };

/** Where policies stand, what Services translate, and what guards hosts. */
export const PLACE_ROWS: readonly LintRow[] = [
  [
    "a policy is in a namespace with a typing error",
    "missing-namespace",
    [...PODS, np("p", { selector: web, ingress: [allow] }, "shpo")],
    "metadata.namespace",
  ],
  ["no namespaces are among the manifests", "missing-namespace", [...PODS.slice(1), np("p", {}, "x")], undefined],
  ["no pods are", "missing-namespace", [SHOP, np("p", {}, "x")], undefined],
  ["every cluster has it", "missing-namespace", [...PODS, np("p", {}, "kube-system")], undefined],
  [
    "something else is in it",
    "missing-namespace",
    [
      ...PODS,
      { apiVersion: V3, kind: "NetworkSet", metadata: { name: "s", namespace: "x" }, spec: { nets: ["10.0.0.0/8"] } },
      np("p", {}, "x"),
    ],
    undefined,
  ],

  [
    "ingress is let in on the port of the Service",
    "service-port",
    [SHOP, WEB, service(8443, 80), knp(ON_8443)],
    "spec.ingress[0].ports[0].port",
  ],
  [
    "the Service names the port of its pods",
    "service-port",
    [
      SHOP,
      WEB,
      service(8443, "http"),
      np("p", { selector: web, ingress: [{ ...allow, protocol: "TCP", destination: { ports: [8443] } }] }),
    ],
    "spec.ingress[0].destination.ports[0]",
  ],
  [
    "egress goes to the port of the Service",
    "service-port",
    [
      SHOP,
      WEB,
      service(8443, 80),
      knp({
        podSelector: {},
        policyTypes: ["Egress"],
        egress: [{ to: [TO_WEB], ports: [{ port: 80 }, { port: 8443 }] }],
      }),
    ],
    "spec.egress[0].ports[1].port",
  ],
  ["the Service does not translate", "service-port", [SHOP, WEB, service(80, 80), knp(ON_8443)], undefined],
  [
    "it is another pod's Service",
    "service-port",
    [SHOP, WEB, service(8443, 80, { app: "db" }), knp(ON_8443)],
    undefined,
  ],
  [
    "the pod listens on it as well",
    "service-port",
    [
      SHOP,
      pod(
        "web",
        { app: "web" },
        { containers: [{ name: "c", ports: [{ containerPort: 80 }, { containerPort: 8443 }] }] },
      ),
      service(8443, 80),
      knp(ON_8443),
    ],
    undefined,
  ],

  ["no policy is for a host endpoint", "closed-host-endpoint", [host()], "spec"],
  [
    "its policy is for one direction",
    "closed-host-endpoint",
    [host(), gnp("p", { selector: "role == 'host'", ingress: [allow] })],
    "spec",
  ],
  ["policy judges both directions", "closed-host-endpoint", [host(), GUARD], undefined],
  ["it has a profile", "closed-host-endpoint", [host({ profiles: ["projectcalico-default-allow"] })], undefined],

  [
    "SSH is not among the failsafe ports",
    "failsafe-port-missing",
    [host(), GUARD, felix({ failsafeInboundHostPorts: [TYPHA] })],
    "spec.failsafeInboundHostPorts",
  ],
  [
    "there are no outbound ones",
    "failsafe-port-missing",
    [host(), GUARD, felix({ failsafeOutboundHostPorts: [] })],
    "spec.failsafeOutboundHostPorts",
  ],
  [
    "they have what is needed",
    "failsafe-port-missing",
    [host(), GUARD, felix({ failsafeInboundHostPorts: [SSH], failsafeOutboundHostPorts: [TYPHA] })],
    undefined,
  ],
  ["no host is guarded", "failsafe-port-missing", [felix({ failsafeInboundHostPorts: [] })], undefined],

  ["a setting is misspelt", "unknown-setting", [felix({ ipipEnabld: true })], "spec.ipipEnabld"],
  ["it is a setting", "unknown-setting", [felix({ ipipEnabled: true })], undefined],
  ["a setting asks for eBPF", "setting-without-effect", [felix({ bpfEnabled: true })], "spec.bpfEnabled"],
  [
    "a setting without effect is off, or as an API server fills it in",
    "setting-without-effect",
    [felix({ bpfEnabled: false, bpfConnectTimeLoadBalancing: "TCP", usageReportingEnabled: false })],
    undefined,
  ],
  [
    "a setting has an effect",
    "setting-without-effect",
    [felix({ flowLogsLocalReporter: "Enabled", iptablesNATOutgoingInterfaceFilter: "eth0" })],
    undefined,
  ],
];
