import { must } from "@bulrush/base";
import { canonicalCidr, formatAddress, parseAddress } from "@bulrush/ip";
import { parseDscp } from "@bulrush/model";
import type { DataplaneConfig, OpenstackConfig } from "./dataplane-config.ts";
import { DEFAULT_FAILSAFE_INBOUND, DEFAULT_FAILSAFE_OUTBOUND, readFailsafePorts } from "./failsafe.ts";
import { type Field, type FieldReader, readBoolean, readChoice, readInteger, readSecondsAsMs } from "./field.ts";
import { readLogRate } from "./log-rate.ts";
import { allocateMarks, wireguardMark } from "./marks.ts";

/** A setting whose text is unusable: its default stands. */
export interface SettingProblem {
  /** The setting's name, as in the table of settings. */
  readonly name: string;
  readonly message: string;
}

/**
 * The configuration is whole whatever the texts were: where one is unusable, the default stands and a problem says so.
 */
export interface ParsedConfig {
  readonly config: DataplaneConfig;
  readonly problems: readonly SettingProblem[];
}

const DEFAULT_MARK_MASK = 0xffff0000;
/** Names of hardware and virtual machine interfaces. */
const DEFAULT_MTU_PATTERN = /^((en|wl|ww|sl|ib)[Pcopsvx].*|(eth|wlan|wwan).*)/;
/** RT_TABLE_DEFAULT, RT_TABLE_MAIN and RT_TABLE_LOCAL. */
const KERNEL_TABLES: ReadonlySet<number> = new Set([253, 254, 255]);
/** Where OpenStack's metadata service listens by default. */
const LOCAL_METADATA = "127.0.0.1";
const DEFAULT_TABLES = { 4: 1, 6: 2 } as const;
/** As in the reference system. */
const DEFAULT_AMBIENT_DSCP = 23;
const DEFAULT_REFRESH_MS = { nftables: 180_000, others: 90_000 } as const;

/**
 * Turns effective settings (names in any case, as in FelixConfiguration) into a {@link DataplaneConfig}. An absent or
 * empty setting has its default; so has a bad one, which is reported. `none` is the zero value: of lists, texts, times and switches.
 * Names that are not the dataplane's are left alone.
 */
export function parseDataplaneConfig(settings: ReadonlyMap<string, string>): ParsedConfig {
  const problems: SettingProblem[] = [];
  const texts = new Map<string, string>();
  for (const [name, text] of settings) texts.set(name.toLowerCase(), text.trim());
  const read = <T>(name: string, fallback: T, reader: FieldReader<T>): T => {
    const text = texts.get(name.toLowerCase());
    if (text === undefined || text === "") return fallback;
    const field = reader(text);
    if ("value" in field) return field.value;
    problems.push({ name, message: `${name} ${field.problem}: "${text}". The default is used` });
    return fallback;
  };
  const port = (name: string, fallback: number): number => read(name, fallback, readInteger(1, 65535));
  const flag = (name: string, fallback: boolean): boolean => read(name, fallback, orNone(false, readBoolean));
  const choice = <T extends string>(name: string, words: readonly [T, ...T[]]): T =>
    read(name, words[0], readChoice(words));
  const refresh = (name: string, fallback: number): number => read(name, fallback, orNone(0, readSecondsAsMs));
  const mask = read("NftablesMarkMask", DEFAULT_MARK_MASK, readMask);
  const ipv6Support = flag("Ipv6Support", true);
  const wireguard = {
    4: flag("WireguardEnabled", false),
    6: flag("WireguardEnabledV6", false) && ipv6Support,
  };
  const metadata = (): OpenstackConfig["metadata"] => {
    const address = read("MetadataAddr", LOCAL_METADATA, orNone(undefined, readAddress(4)));
    return address === undefined ? undefined : { address, port: port("MetadataPort", 8775) };
  };
  const isWithoutMark = (wireguard[4] || wireguard[6]) && wireguardMark(mask) === 0;
  if (isWithoutMark)
    problems.push({
      name: "NftablesMarkMask",
      message: "NftablesMarkMask has no sixth bit for WireGuard, which stays off",
    });
  const routeSyncDisabled = flag("RouteSyncDisabled", false);
  for (const [isOn, name] of [
    [wireguard[4], "WireguardEnabled"],
    [wireguard[6], "WireguardEnabledV6"],
  ] as const)
    if (isOn && routeSyncDisabled)
      problems.push({ name, message: `${name} has no effect with RouteSyncDisabled: packets go unencrypted` });
  const config: DataplaneConfig = {
    interfacePrefixes: read("InterfacePrefix", ["cali"], readPrefixes),
    interfaceExclude: read("InterfaceExclude", ["kube-ipvs0"], readExcludes),
    ipv6Support,
    ipForwarding: choice("IPForwarding", ["Enabled", "Disabled"]) === "Enabled",
    marks: must(allocateMarks(mask), "marks of a mask that was read"),
    endpointToHostAction: choice("DefaultEndpointToHostAction", ["DROP", "RETURN", "ACCEPT"]),
    filterAllowAction: choice("NftablesFilterAllowAction", ["ACCEPT", "RETURN"]),
    mangleAllowAction: choice("NftablesMangleAllowAction", ["ACCEPT", "RETURN"]),
    denyAction: choice("NftablesFilterDenyAction", ["DROP", "REJECT"]),
    disableConntrackInvalidCheck: flag("DisableConntrackInvalidCheck", false),
    allowSpoofedSources: choice("WorkloadSourceSpoofing", ["Disabled", "Any"]) === "Any",
    allowVxlanFromWorkloads: flag("AllowVXLANPacketsFromWorkloads", false),
    allowIpipFromWorkloads: flag("AllowIPIPPacketsFromWorkloads", false),
    vxlanPort: port("VXLANPort", 4789),
    hostname: read("FelixHostname", "", (text) => ({ value: text })),
    vxlanVni: read("VXLANVNI", 4096, readInteger(1, 0xffffff)),
    vxlanMtu: { 4: read("VXLANMTU", 0, readMtu), 6: read("VXLANMTUV6", 0, readMtu) },
    ipipMtu: read("IpInIpMtu", 0, readMtu),
    wireguardMtu: { 4: read("WireguardMTU", 0, readMtu), 6: read("WireguardMTUV6", 0, readMtu) },
    wireguard: isWithoutMark ? { 4: false, 6: false } : wireguard,
    wireguardMark: wireguard[4] || wireguard[6] ? wireguardMark(mask) : 0,
    wireguardHostEncryption: flag("WireguardHostEncryptionEnabled", false),
    wireguardThreading: flag("WireguardThreadingEnabled", false),
    isAks: clusterTypes(texts).includes("aks"),
    wireguardKeepaliveSeconds: Math.round(refresh("WireguardPersistentKeepAlive", 0) / 1000),
    wireguardRulePriority: read("WireguardRoutingRulePriority", 99, readInteger(1, 32_765)),
    wireguardTables: read("RouteTableRanges", read("RouteTableRange", DEFAULT_TABLES, readTables), readTables),
    wireguardPort: { 4: port("WireguardListeningPort", 51_820), 6: port("WireguardListeningPortV6", 51_821) },
    wireguardDevice: {
      4: read("WireguardInterfaceName", "wireguard.cali", readInterfaceFilter),
      6: read("WireguardInterfaceNameV6", "wg-v6.cali", readInterfaceFilter),
    },
    endpointStatusPrefix: read("EndpointStatusPathPrefix", "", readPath),
    mtuFile: read("MTUFile", "", readPath),
    mtuInterfacePattern: read("MTUIfacePattern", DEFAULT_MTU_PATTERN, readPattern),
    externalNodes: read("ExternalNodesCIDRList", [], orNone([], readCidrs)),
    clusterRoutes: readClusterRoutes(
      choice("ProgramClusterRoutes", ["EnabledIPIPOnly", "Enabled", "Disabled", "EnabledNoEncapOnly"]),
    ),
    failsafeInbound: read("FailsafeInboundHostPorts", DEFAULT_FAILSAFE_INBOUND, orNone([], readFailsafePorts)),
    failsafeOutbound: read("FailsafeOutboundHostPorts", DEFAULT_FAILSAFE_OUTBOUND, orNone([], readFailsafePorts)),
    logPrefix: read("LogPrefix", "calico-packet", (text) => ({ value: isNone(text) ? "" : text })),
    logRateLimit: read("LogActionRateLimit", undefined, orNone(undefined, readLogRate)),
    logBurst: read("LogActionRateLimitBurst", 5, readInteger(1, 9999)),
    flowLog: choice("FlowLogsLocalReporter", ["Disabled", "Enabled"]) === "Enabled",
    flowOffload: choice("NFTablesFlowTableOffload", ["Disabled", "All"]) === "All",
    flowOffloadInterfaces: read("NFTablesFlowTableDataIfacePattern", DEFAULT_MTU_PATTERN, readPattern),
    serviceLoopPrevention: choice("ServiceLoopPrevention", ["Drop", "Reject", "Disabled"]),
    natOutgoingExclusions: choice("NATOutgoingExclusions", ["IPPoolsOnly", "IPPoolsAndHostIPs"]),
    natPorts: read("NATPortRange", undefined, orNone(undefined, readPortRange)),
    ambientDscp: read("IstioDSCPMark", DEFAULT_AMBIENT_DSCP, orNone(0, readDscp)),
    natAddress: read("NATOutgoingAddress", undefined, orNone(undefined, readAddress(4))),
    natInterface: read("IptablesNATOutgoingInterfaceFilter", "", orNone("", readInterfaceFilter)),
    floatingIps: choice("FloatingIPs", ["Disabled", "Enabled"]) === "Enabled",
    openstack: isOpenstack(texts) ? { metadata: metadata() } : undefined,
    routeSyncDisabled,
    deviceRouteProtocol: read("DeviceRouteProtocol", 3, readInteger(1, 255)),
    deviceRouteSourceAddress: read("DeviceRouteSourceAddress", undefined, orNone(undefined, readAddress(4))),
    deviceRouteSourceAddressV6: read("DeviceRouteSourceAddressIPv6", undefined, orNone(undefined, readAddress(6))),
    removeExternalRoutes: flag("RemoveExternalRoutes", true),
    routePriority: {
      4: read("IPv4NormalRoutePriority", 1024, readInteger(1, 2147483646)),
      6: read("IPv6NormalRoutePriority", 1024, readInteger(1, 2147483646)),
    },
    elevatedRoutePriority: {
      4: read("IPv4ElevatedRoutePriority", 512, readInteger(1, 2147483646)),
      6: read("IPv6ElevatedRoutePriority", 512, readInteger(1, 2147483646)),
    },
    liveMigrationConvergenceMs: refresh("LiveMigrationRouteConvergenceTime", 30_000),
    localReachability:
      choice("LocalSubnetL2Reachability", ["Disabled", "PodsAndLoadBalancers"]) === "PodsAndLoadBalancers",
    localReachabilityRefreshMs: refresh("LocalSubnetL2ReachabilityRefreshInterval", 120_000),
    nftablesRefreshMs: refresh("NftablesRefreshInterval", DEFAULT_REFRESH_MS.nftables),
    ipsetsRefreshMs: refresh("IpsetsRefreshInterval", DEFAULT_REFRESH_MS.others),
    routeRefreshMs: refresh("RouteRefreshInterval", DEFAULT_REFRESH_MS.others),
    interfaceRefreshMs: refresh("InterfaceRefreshInterval", DEFAULT_REFRESH_MS.others),
  };
  return { config, problems };
}

/** By the type of the cluster, by the metadata service, or by the prefix that OpenStack's interfaces have. */
function isOpenstack(texts: ReadonlyMap<string, string>): boolean {
  const address = texts.get("metadataaddr") ?? "";
  const prefixes = (texts.get("interfaceprefix") ?? "").split(",").map((prefix) => prefix.trim());
  return (
    (texts.get("clustertype") ?? "").toLowerCase().includes("openstack") ||
    (address !== "" && address !== LOCAL_METADATA && !isNone(address)) ||
    prefixes.includes("tap")
  );
}

/** The words of `ClusterType`, in lower case. */
function clusterTypes(texts: ReadonlyMap<string, string>): string[] {
  return (texts.get("clustertype") ?? "")
    .toLowerCase()
    .split(",")
    .map((word) => word.trim());
}

function readPrefixes(text: string): Field<readonly string[]> {
  const prefixes = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  const bad = prefixes.find((prefix) => !/^[^\s/*]{1,15}$/.test(prefix));
  if (bad !== undefined) return { problem: `holds "${bad}", which begins no interface name` };
  return prefixes.length === 0 ? { problem: "names no prefix" } : { value: prefixes };
}

function readExcludes(text: string): Field<readonly (string | RegExp)[]> {
  const excludes: (string | RegExp)[] = [];
  for (const entry of text.split(",").map((part) => part.trim())) {
    if (entry === "" || isNone(entry)) continue;
    if (!entry.startsWith("/") || !entry.endsWith("/")) excludes.push(entry);
    else
      try {
        excludes.push(new RegExp(entry.slice(1, -1)));
      } catch {
        return { problem: `holds "${entry}", which is no pattern` };
      }
  }
  return { value: excludes };
}

function readMask(text: string): Field<number> {
  const mask = /^(0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10})$/.test(text) ? Number(text) : Number.NaN;
  return allocateMarks(mask) === undefined
    ? { problem: "is not a 32-bit mask with five bits set or more" }
    : { value: mask };
}

/** `first-last`, several by commas. The first two numbers that are not the kernel's own tables. */
function readTables(text: string): Field<DataplaneConfig["wireguardTables"]> {
  const found: number[] = [];
  for (const part of text.split(",")) {
    const [, first = 0, last = 0] = (/^\s*([0-9]{1,9})-([0-9]{1,9})\s*$/.exec(part) ?? []).map(Number);
    if (first < 1 || last < first) return { problem: `holds "${part}", which is no range of routing tables` };
    for (let table = first; table <= last && found.length < 2; table++)
      if (!KERNEL_TABLES.has(table)) found.push(table);
  }
  const [v4, v6] = found;
  return v4 === undefined || v6 === undefined ? { problem: "has fewer than two tables" } : { value: { 4: v4, 6: v6 } };
}

const readMtu = readInteger(0, 65_535);

/** An absolute path; `none` for none. */
function readPath(text: string): Field<string> {
  if (isNone(text)) return { value: "" };
  return text.startsWith("/") ? { value: text } : { problem: "is no absolute path" };
}

function readPattern(text: string): Field<RegExp> {
  try {
    return { value: new RegExp(text) };
  } catch {
    return { problem: "is no pattern" };
  }
}

/** `first:last`, or one port. */
function readPortRange(text: string): Field<DataplaneConfig["natPorts"]> {
  const parts = /^([0-9]{1,5})(?::([0-9]{1,5}))?$/.exec(text);
  const first = Number(parts?.[1] ?? 0);
  const last = Number(parts?.[2] ?? first);
  if (first < 1 || last > 65_535 || first > last) return { problem: "is not a range of ports" };
  return { value: { first, last } };
}

function readDscp(text: string): Field<number> {
  const value = parseDscp(text);
  return value === undefined ? { problem: "is no DSCP" } : { value };
}

function readInterfaceFilter(text: string): Field<string> {
  return /^[^\s/*]{1,15}$/.test(text) ? { value: text } : { problem: "is no interface name" };
}

function readCidrs(text: string): Field<readonly string[]> {
  const cidrs: string[] = [];
  for (const entry of text.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const cidr = canonicalCidr(entry);
    if (cidr === undefined) return { problem: `holds "${entry}", which is no network` };
    cidrs.push(cidr);
  }
  return { value: cidrs };
}

function readClusterRoutes(
  choice: "EnabledIPIPOnly" | "Enabled" | "Disabled" | "EnabledNoEncapOnly",
): DataplaneConfig["clusterRoutes"] {
  return {
    ipip: choice === "Enabled" || choice === "EnabledIPIPOnly",
    noEncap: choice === "Enabled" || choice === "EnabledNoEncapOnly",
  };
}

function isNone(text: string): boolean {
  return text.toLowerCase() === "none";
}

/** `none` is the zero value of settings that have one. */
function orNone<T>(zero: T, reader: FieldReader<T>): FieldReader<T> {
  return (text) => (isNone(text) ? { value: zero } : reader(text));
}

function readAddress(family: 4 | 6): FieldReader<string | undefined> {
  return (text) => {
    const address = parseAddress(text);
    if (address?.family !== family) return { problem: `is not an IPv${family} address` };
    return { value: formatAddress(address) };
  };
}
