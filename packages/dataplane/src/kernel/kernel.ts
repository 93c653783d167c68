import type {
  AnnouncementWatch,
  ConntrackConnection,
  LogMonitor,
  LogMonitorOptions,
  NeighbourResponder,
  NeighbourResponderOptions,
  RouteConnection,
  RouteMonitor,
  RouteMonitorOptions,
  WireguardConnection,
} from "@bulrush/netlink";
import type { HostFiles } from "../file/host-files.ts";
import type { NftConnection, NftWatch, NftWatchOptions } from "@bulrush/nftables";

/** What the dataplane needs of the rtnetlink connection. */
export type RouteAccess = Pick<
  RouteConnection,
  "links" | "addresses" | "routes" | "neighbours" | "rules" | "qdiscs" | "ingressFilters" | "apply" | "close"
>;

/** What the dataplane needs of connection tracking. */
export type FlowAccess = Pick<ConntrackConnection, "deleteFlowsOf" | "deleteFlowsWhere">;

/** What the dataplane needs of WireGuard. */
export interface WireguardAccess {
  /** `undefined` while the kernel has no WireGuard: it may load it with the first device. The caller closes it. Throws. */
  open(): WireguardConnection | undefined;
  /** A private key of nobody else, in base64. */
  newKey(): string;
}

/** Settings of the kernel, by path: "net/ipv4/ip_forward" below /proc/sys. */
export interface Sysctls {
  /** The value without its line end, or `undefined` when there is no such setting. Throws on any other failure. */
  read(path: string): string | undefined;
  /** Throws when it cannot be written. */
  write(path: string, value: string): void;
}

/** One host's kernel: the real one, or the fakes of the tests. Whoever opened it closes it. */
export interface Kernel {
  readonly nft: NftConnection;
  readonly routes: RouteAccess;
  readonly conntrack: FlowAccess;
  readonly sysctls: Sysctls;
  /** Settings of interfaces that are no hardware: "wg0/threaded". Absent: none of them has any. */
  readonly virtualDevices?: Sysctls;
  readonly files: HostFiles;
  /** Absent: as a kernel without it. */
  readonly wireguard?: WireguardAccess;
  /** Listens at a device for machines that say that they are here. Throws. */
  openAnnouncementWatch(device: number): AnnouncementWatch;
  /** Answers questions of neighbours at a device. Absent: nobody can. Throws. */
  openNeighbourResponder?(options: NeighbourResponderOptions): NeighbourResponder;
  /** Subscribes to links, addresses and routes. Callbacks never run from inside this call. */
  openMonitor(callbacks: Pick<RouteMonitorOptions, "onEvents" | "onResync" | "onError">): RouteMonitor;
  /** Listens to what others change in nf_tables. Callbacks never run from inside this call. */
  openNftWatch(callbacks: Pick<NftWatchOptions, "onChange" | "onLost" | "onError">): NftWatch;
  /** Takes packet log groups. Throws when another program has one. Callbacks never run from inside this call. */
  openLogMonitor(options: Pick<LogMonitorOptions, "groups" | "onPackets" | "onLost" | "onError">): LogMonitor;
  /** Closes every connection that it holds; watches and monitors are closed by whoever opened them. */
  close(): void;
}
