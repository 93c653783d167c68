import { dscp, duration, net, port, selector, switched } from "./common.ts";
import { CONNTRACK_TIMERS, FELIX_FIELDS, type FelixForm } from "./felix-fields.ts";
import {
  boolean,
  integer,
  listOf,
  mapOf,
  object,
  type ObjectShape,
  oneOf,
  type Rule,
  type Shape,
  text,
} from "./shape.ts";

export const clusterInformationSpec: ObjectShape = object({
  clusterGUID: text(),
  clusterType: text({ about: "Words that say what the cluster is made of, separated by commas." }),
  calicoVersion: text(),
  datastoreReady: boolean({ about: "False holds every agent back." }),
  variant: text(),
});

const failsafe = object(
  {
    protocol: text({ pattern: "^([Tt][Cc][Pp]|[Uu][Dd][Pp]|[Ss][Cc][Tt][Pp])?$" }),
    port: integer(0, 65_535),
    net: text(),
  },
  { required: ["port"] },
);

function tableRange(max: number): Shape {
  return object(
    { min: integer(1, max), max: integer(1, max) },
    { required: ["min", "max"], rules: [{ cel: "self.min <= self.max", message: "min is above max" }] },
  );
}

const MAX_TABLES = 65_535;
/** More ranges than anybody has; the sum over them has to end. */
const MAX_RANGES = 1000;
const TABLE_SUM: Rule = {
  cel: `self.map(range, range.max - range.min + 1).sum() <= ${MAX_TABLES}`,
  message: `expected at most ${MAX_TABLES} tables in all ranges together`,
};

const FORMS: Readonly<Record<FelixForm, Shape>> = {
  text: text(),
  boolean: boolean(),
  integer: integer(),
  duration,
  "duration-ms": duration,
  port,
  ports: listOf(port, { maxItems: 7 }),
  dscp,
  texts: listOf(text()),
  "text-map": mapOf(text()),
  "failsafe-ports": listOf(failsafe),
  "table-range": tableRange(250),
  "table-ranges": listOf(tableRange(4_294_967_295), { maxItems: MAX_RANGES, rules: [TABLE_SUM] }),
  "health-timeouts": listOf(
    object({ name: text({ minLength: 1 }), timeout: duration }, { required: ["name", "timeout"] }),
  ),
  "conntrack-timeouts": object(Object.fromEntries([...CONNTRACK_TIMERS.keys()].map((timer) => [timer, text()]))),
  placement: selector(),
};

/** A regular expression: one that cannot be read is an error of the rule, which refuses it. */
const pattern: Shape = text({
  rules: [{ cel: "''.matches(self) || !''.matches(self)", message: "not a regular expression" }],
});

/** Where a field is held to more than its form. */
const NARROWER: Readonly<Record<string, Shape>> = {
  nodeSelector: selector("The nodes that this configuration is for; not in default and not in node.<name>."),
  awsSrcDstCheck: oneOf(["DoNothing", "Enable", "Disable"]),
  floatingIPs: switched,
  bpfConnectTimeLoadBalancing: oneOf(["TCP", "Enabled", "Disabled"]),
  bpfHostNetworkedNATWithoutCTLB: switched,
  windowsManageFirewallRules: switched,
  ipForwarding: oneOf(["Enabled", "Disabled", ""]),
  bpfDataIfacePattern: pattern,
  bpfL3IfacePattern: pattern,
  openstackRegion: text({ pattern: "^([a-z0-9]([-a-z0-9]{0,44}[a-z0-9])?)?$" }),
  externalNodesList: listOf(text({ formats: ["ipv4", "cidr"], pattern: "^[0-9./]*$" })),
  bpfDSROptoutCIDRs: listOf(net),
  bpfExcludeCIDRsFromNAT: listOf(net),
  wireguardRoutingRulePriority: integer(1, 32_765),
  wireguardListeningPort: integer(1, 65_535),
  wireguardListeningPortV6: integer(1, 65_535),
  iptablesMarkMask: integer(0, 4_294_967_295),
  nftablesMarkMask: integer(0, 4_294_967_295),
  bpfExtToServiceConnmark: integer(0, 4_294_967_295),
  debugPort: integer(0, 65_535),
  goGCThreshold: integer(-1),
  goMemoryLimitMB: integer(-1),
  goMaxProcs: integer(-1),
};

export const felixConfigurationSpec: ObjectShape = object(
  Object.fromEntries([...FELIX_FIELDS.values()].map(({ field, form }) => [field, NARROWER[field] ?? FORMS[form]])),
  {
    rules: [
      {
        cel: "!has(self.routeTableRange) || !has(self.routeTableRanges) || size(self.routeTableRanges) == 0",
        message: "routeTableRange and routeTableRanges exclude each other",
      },
    ],
  },
);

const period = object({ reconcilerPeriod: duration });

const controllersSpec: ObjectShape = object({
  logSeverityScreen: text(),
  healthChecks: switched,
  etcdV3CompactionPeriod: duration,
  prometheusMetricsPort: integer(0, 65_535),
  debugProfilePort: integer(0, 65_535),
  controllers: object({
    node: object({
      reconcilerPeriod: duration,
      syncLabels: switched,
      leakGracePeriod: duration,
      hostEndpoint: object({
        autoCreate: switched,
        createDefaultHostEndpoint: text(),
        templates: listOf(
          object({
            generateName: text({ maxLength: 253 }),
            interfaceCIDRs: listOf(net),
            interfacePattern: text(),
            labels: mapOf(text()),
            nodeSelector: selector(),
          }),
        ),
      }),
    }),
    policy: period,
    workloadEndpoint: period,
    serviceAccount: period,
    namespace: period,
    loadBalancer: object({ assignIPs: oneOf(["AllServices", "RequestedServicesOnly"]) }),
    policyMigration: object({ enabled: text() }),
  }),
});

export const kubeControllersConfigurationSpec: ObjectShape = controllersSpec;
export const kubeControllersConfigurationStatus: ObjectShape = object({
  runningConfig: controllersSpec,
  environmentVars: mapOf(text()),
});
