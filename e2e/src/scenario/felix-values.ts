import { FELIX_CONFIG } from "@bulrush/agent";
import { FELIX_FIELDS, type FelixField } from "@bulrush/model";
import { required } from "./required.ts";

/** A field of FelixConfiguration with a value that is not the default. */
export interface FieldValue extends FelixField {
  readonly value: unknown;
}

/**
 * Values that keep the guarded world as it is: who may reach whom must not depend on them. By parameter; the others follow
 * from their type.
 */
const VALUES: Readonly<Record<string, unknown>> = {
  InterfacePrefix: "cali,eni",
  InterfaceExclude: "kube-ipvs0,dummy0",
  NftablesMarkMask: 0xffff,
  DeviceRouteSourceAddress: "192.0.2.1",
  DeviceRouteSourceAddressIPv6: "2001:db8::1",
  DeviceRouteProtocol: 55,
  NATPortRange: "20000:30000",
  NATOutgoingAddress: "192.0.2.1",
  IptablesNATOutgoingInterfaceFilter: "eth+",
  MTUIfacePattern: "^eth.*",
  ExternalNodesCIDRList: ["198.51.100.7/32"],
  FailsafeInboundHostPorts: [{ protocol: "TCP", port: 22 }],
  FailsafeOutboundHostPorts: [{ protocol: "UDP", port: 53 }],
  HealthTimeoutOverrides: [{ name: "CalculationGraph", timeout: "45s" }],
  LogActionRateLimit: "100/second",
  LogPrefix: "other",
  KubeNodePortRanges: ["30000:31000"],
  PrometheusMetricsHost: "127.0.0.1",
  PrometheusMetricsCertFile: "/nowhere/cert",
  PrometheusMetricsKeyFile: "/nowhere/key",
  PrometheusMetricsCAFile: "/nowhere/ca",
  HealthHost: "127.0.0.1",
  EndpointStatusPathPrefix: "/run/bulrush/status",
  IPv4NormalRoutePriority: 1030,
  IPv6NormalRoutePriority: 1030,
  BPFLogFilters: { all: "tcp" },
  BPFConntrackTimeouts: { udpTimeout: "30s" },
  RouteTableRange: { min: 10, max: 20 },
  RouteTableRanges: [{ min: 10, max: 20 }],
};

function valueOf({ form, parameter }: FelixField): unknown {
  if (parameter in VALUES) return VALUES[parameter];
  const { default: fallback, type } = required(FELIX_CONFIG[parameter as keyof typeof FELIX_CONFIG], parameter);
  const words = /^one of (.*)$/.exec(type.label)?.[1]?.split(", ");
  if (words !== undefined) return words.find((word) => word !== fallback);
  switch (form) {
    case "boolean":
      return fallback !== true;
    case "integer":
      return typeof fallback === "number" ? fallback + 1 : 7;
    case "duration":
    case "duration-ms":
      return "77s";
    case "port":
      return 7;
    case "ports":
    case "texts":
      return ["7"];
    default:
      return "7";
  }
}

/** Every field that is a setting. */
export const FIELD_VALUES: readonly FieldValue[] = [...FELIX_FIELDS.values()]
  .filter(({ form }) => form !== "placement")
  .map((field) => ({ ...field, value: valueOf(field) }));
