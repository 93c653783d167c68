import {
  type AuthenticateRequest,
  authenticateRequest,
  type AuthenticateResponse,
  authenticateResponse,
  type LeaseGrantRequest,
  leaseGrantRequest,
  type LeaseGrantResponse,
  leaseGrantResponse,
  type RangeRequest,
  rangeRequest,
  type RangeResponse,
  rangeResponse,
  type StatusRequest,
  statusRequest,
  type StatusResponse,
  statusResponse,
  type TxnRequest,
  txnRequest,
  type TxnResponse,
  txnResponse,
} from "./messages.ts";
import type { Schema } from "./protobuf.ts";

/** A call with one request and one response. */
export interface Method<Request, Response> {
  readonly path: string;
  /** What is attempted, for messages. */
  readonly op: string;
  /** Repeating it changes nothing. */
  readonly isRead: boolean;
  readonly request: Schema<Request>;
  readonly response: Schema<Response>;
}

export const RANGE: Method<RangeRequest, RangeResponse> = {
  path: "/etcdserverpb.KV/Range",
  op: "Read",
  isRead: true,
  request: rangeRequest,
  response: rangeResponse,
};

export const TXN: Method<TxnRequest, TxnResponse> = {
  path: "/etcdserverpb.KV/Txn",
  op: "Write",
  isRead: false,
  request: txnRequest,
  response: txnResponse,
};

/** A lease that nobody uses ends by itself, so a second one does no harm. */
export const LEASE_GRANT: Method<LeaseGrantRequest, LeaseGrantResponse> = {
  path: "/etcdserverpb.Lease/LeaseGrant",
  op: "Get a lease",
  isRead: true,
  request: leaseGrantRequest,
  response: leaseGrantResponse,
};

export const AUTHENTICATE: Method<AuthenticateRequest, AuthenticateResponse> = {
  path: "/etcdserverpb.Auth/Authenticate",
  op: "Log in",
  isRead: true,
  request: authenticateRequest,
  response: authenticateResponse,
};

export const STATUS: Method<StatusRequest, StatusResponse> = {
  path: "/etcdserverpb.Maintenance/Status",
  op: "Ask for the status",
  isRead: true,
  request: statusRequest,
  response: statusResponse,
};

export const WATCH_PATH = "/etcdserverpb.Watch/Watch";
