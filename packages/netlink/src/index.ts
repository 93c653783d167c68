export type { ConntrackConnection, Flow, FlowFilter, FlowTuple } from "./conntrack/flow.ts";
export { type ConntrackOptions, openConntrack } from "./conntrack/open-conntrack.ts";
export {
  hasErrno,
  isAlreadyExists,
  isNotFound,
  NETLINK_ERROR_CODES,
  NetlinkError,
  type NetlinkErrorCode,
  type NetlinkErrorOptions,
} from "./errors.ts";
export type { LogMonitor, LogMonitorOptions, LogPacket } from "./log/log-packet.ts";
export { openLogMonitor } from "./log/open-log-monitor.ts";
export { AttributeReader } from "./message/attribute-reader.ts";
export {
  align4,
  NETLINK_GENERIC,
  NETLINK_NETFILTER,
  NETLINK_ROUTE,
  NLA_F_NESTED,
  NLM_F,
  NLMSG,
  NLMSG_HEADER_BYTES,
} from "./message/header.ts";
export { decodeKernelAnswer, type KernelAnswer } from "./message/kernel-answer.ts";
export { malformed } from "./message/malformed.ts";
export { MessageReader } from "./message/message-reader.ts";
export { MessageWriter } from "./message/message-writer.ts";
export { NFGEN_BYTES, writeNfgen } from "./message/nfgen.ts";
export { type NamespaceRef, openNamespace, openOwnNamespace, withNetworkNamespace } from "./namespace.ts";
export { type AnnouncementWatch, openAnnouncementWatch } from "./packet/open-announcement-watch.ts";
export {
  type NeighbourResponder,
  type NeighbourResponderOptions,
  openNeighbourResponder,
} from "./packet/open-neighbour-responder.ts";
export type { InterfaceAddress, RouteScope } from "./route/address.ts";
export type { Link, LinkChange, PlainLink, VethPair } from "./route/link.ts";
export type { Neighbour } from "./route/neighbour.ts";
export { openRouteConnection } from "./route/open-route-connection.ts";
export { openRouteMonitor } from "./route/open-route-monitor.ts";
export type { RouteOperation } from "./route/operation.ts";
export { describeRouteOperation } from "./route/operation-codec.ts";
export type { NextHop, Route, RouteType } from "./route/route.ts";
export type { RoutingRule } from "./route/rule.ts";
export type { OperationFailure, RouteConnection } from "./route/route-connection.ts";
export type { MonitorGroup, RouteEvent, RouteMonitor, RouteMonitorOptions } from "./route/route-monitor.ts";
export type { VxlanInfo, VxlanLink } from "./route/vxlan.ts";
export { type ExchangeResult, NetlinkSocket, type NetlinkSocketOptions } from "./socket/netlink-socket.ts";
export {
  type Filter,
  type Qdisc,
  QDISC_INGRESS,
  QDISC_ROOT,
  type QdiscSpec,
  type Redirect,
  type TokenBucket,
} from "./tc/qdisc.ts";
export { type NetlinkMonitor, openMonitor } from "./socket/open-monitor.ts";
export { openWireguard } from "./wireguard/open-wireguard.ts";
export type {
  WireguardChange,
  WireguardConnection,
  WireguardDevice,
  WireguardPeer,
  WireguardPeerChange,
} from "./wireguard/wireguard.ts";
export { errnoName } from "./system/errno.ts";
export { bindFd, closeFd, openSocketFd, SOCKET, type SocketFdOptions } from "./system/socket-fd.ts";
