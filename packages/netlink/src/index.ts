export {
  hasErrno,
  isAlreadyExists,
  isNotFound,
  NETLINK_ERROR_CODES,
  NetlinkError,
  type NetlinkErrorCode,
  type NetlinkErrorOptions,
} from "./errors.ts";
export type { NamespaceRef } from "./namespace.ts";
export type { InterfaceAddress, RouteScope } from "./route/address.ts";
export type { Link, LinkChange, VethPair } from "./route/link.ts";
export type { Neighbour } from "./route/neighbour.ts";
export type { RouteOperation } from "./route/operation.ts";
export type { NextHop, Route, RouteType } from "./route/route.ts";
export type { OperationFailure, RouteConnection } from "./route/route-connection.ts";
export type { MonitorGroup, RouteEvent, RouteMonitor, RouteMonitorOptions } from "./route/route-monitor.ts";
