import type { Schema } from "./protobuf.ts";

/**
 * The part of etcd's API that we use. Numbers and names are those of
 * https://github.com/etcd-io/etcd/blob/v3.6.8/api/etcdserverpb/rpc.proto (and kv.proto, auth.proto beside it); what we
 * do not use is left out. A `oneof` is fields of which one is set: that is how it travels.
 */
export interface ResponseHeader {
  readonly cluster_id: bigint;
  readonly revision: number;
}

const responseHeader: Schema<ResponseHeader> = { cluster_id: [1, "uint64"], revision: [3, "int64"] };

/** mvccpb.KeyValue. */
export interface KeyValue {
  readonly key: Buffer;
  readonly create_revision: number;
  readonly mod_revision: number;
  readonly value: Buffer;
}

const keyValue: Schema<KeyValue> = {
  key: [1, "bytes"],
  create_revision: [2, "int64"],
  mod_revision: [3, "int64"],
  value: [5, "bytes"],
};

export interface RangeRequest {
  readonly key: Buffer;
  /** The first key that is not meant; absent: only `key`. */
  readonly range_end?: Buffer | undefined;
  readonly limit?: number;
  /** The state at this revision; absent: the newest. */
  readonly revision?: number | undefined;
  readonly keys_only?: boolean;
  readonly count_only?: boolean;
}

export const rangeRequest: Schema<RangeRequest> = {
  key: [1, "bytes"],
  range_end: [2, "bytes"],
  limit: [3, "int64"],
  revision: [4, "int64"],
  keys_only: [8, "bool"],
  count_only: [9, "bool"],
};

export interface RangeResponse {
  readonly header: ResponseHeader | undefined;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: number;
}

export const rangeResponse: Schema<RangeResponse> = {
  header: [1, "message", () => responseHeader],
  kvs: [2, "repeated", () => keyValue],
  more: [3, "bool"],
  count: [4, "int64"],
};

interface PutRequest {
  readonly key: Buffer;
  readonly value: Buffer;
  /** Until when it lives. A put without one makes it live on. */
  readonly lease?: bigint | undefined;
}

const putRequest: Schema<PutRequest> = { key: [1, "bytes"], value: [2, "bytes"], lease: [3, "uint64"] };

interface DeleteRangeRequest {
  readonly key: Buffer;
}

const deleteRangeRequest: Schema<DeleteRangeRequest> = { key: [1, "bytes"] };

export interface RequestOp {
  readonly request_range?: RangeRequest;
  readonly request_put?: PutRequest;
  readonly request_delete_range?: DeleteRangeRequest;
}

const requestOp: Schema<RequestOp> = {
  request_range: [1, "message", () => rangeRequest],
  request_put: [2, "message", () => putRequest],
  request_delete_range: [3, "message", () => deleteRangeRequest],
};

/** Compare.CompareResult. */
export const COMPARE_EQUAL = 0;
export const COMPARE_GREATER = 1;
/** Compare.CompareTarget. */
export const TARGET_VERSION = 0;
export const TARGET_MOD = 2;

export interface Compare {
  readonly result: number;
  readonly target: number;
  readonly key: Buffer;
  /** Times that the key was written since it was created; 0: it is not there. */
  readonly version?: number;
  readonly mod_revision?: number;
}

const compare: Schema<Compare> = {
  result: [1, "int32"],
  target: [2, "int32"],
  key: [3, "bytes"],
  version: [4, "int64"],
  mod_revision: [6, "int64"],
};

export interface TxnRequest {
  readonly compare: readonly Compare[];
  readonly success: readonly RequestOp[];
  readonly failure: readonly RequestOp[];
}

export const txnRequest: Schema<TxnRequest> = {
  compare: [1, "repeated", () => compare],
  success: [2, "repeated", () => requestOp],
  failure: [3, "repeated", () => requestOp],
};

interface ResponseOp {
  readonly response_range: RangeResponse | undefined;
}

const responseOp: Schema<ResponseOp> = { response_range: [1, "message", () => rangeResponse] };

export interface TxnResponse {
  readonly header: ResponseHeader | undefined;
  readonly succeeded: boolean;
  readonly responses: readonly ResponseOp[];
}

export const txnResponse: Schema<TxnResponse> = {
  header: [1, "message", () => responseHeader],
  succeeded: [2, "bool"],
  responses: [3, "repeated", () => responseOp],
};

interface WatchCreateRequest {
  readonly key: Buffer;
  readonly range_end?: Buffer | undefined;
  readonly start_revision: number;
  /** Ask for a word from time to time while nothing happens. */
  readonly progress_notify: boolean;
  /** Allow a big answer to come in pieces. */
  readonly fragment: boolean;
}

const watchCreateRequest: Schema<WatchCreateRequest> = {
  key: [1, "bytes"],
  range_end: [2, "bytes"],
  start_revision: [3, "int64"],
  progress_notify: [4, "bool"],
  fragment: [8, "bool"],
};

/** Empty. */
type WatchProgressRequest = Readonly<Record<never, never>>;

const watchProgressRequest: Schema<WatchProgressRequest> = {};

export interface WatchRequest {
  readonly create_request?: WatchCreateRequest;
  readonly progress_request?: WatchProgressRequest;
}

export const watchRequest: Schema<WatchRequest> = {
  create_request: [1, "message", () => watchCreateRequest],
  progress_request: [3, "message", () => watchProgressRequest],
};

/** mvccpb.Event.EventType. */
export const EVENT_PUT = 0;
export const EVENT_DELETE = 1;

export interface Event {
  readonly type: number;
  readonly kv: KeyValue | undefined;
}

const event: Schema<Event> = { type: [1, "int32"], kv: [2, "message", () => keyValue] };

/** The watch that an answer to a progress request names: all of the stream. */
export const ALL_WATCHES = -1;

export interface WatchResponse {
  readonly header: ResponseHeader | undefined;
  readonly watch_id: number;
  readonly created: boolean;
  readonly canceled: boolean;
  /** Not 0: what the watch was to begin with is compacted up to here. */
  readonly compact_revision: number;
  readonly cancel_reason: string;
  /** More of the same answer follows. */
  readonly fragment: boolean;
  readonly events: readonly Event[];
}

export const watchResponse: Schema<WatchResponse> = {
  header: [1, "message", () => responseHeader],
  watch_id: [2, "int64"],
  created: [3, "bool"],
  canceled: [4, "bool"],
  compact_revision: [5, "int64"],
  cancel_reason: [6, "string"],
  fragment: [7, "bool"],
  events: [11, "repeated", () => event],
};

export interface LeaseGrantRequest {
  /** Seconds. */
  readonly TTL: number;
}

export const leaseGrantRequest: Schema<LeaseGrantRequest> = { TTL: [1, "int64"] };

export interface LeaseGrantResponse {
  readonly header: ResponseHeader | undefined;
  /** An int64 that is never negative, and random. */
  readonly ID: bigint;
  readonly error: string;
}

export const leaseGrantResponse: Schema<LeaseGrantResponse> = {
  header: [1, "message", () => responseHeader],
  ID: [2, "uint64"],
  error: [4, "string"],
};

export interface AuthenticateRequest {
  readonly name: string;
  readonly password: string;
}

export const authenticateRequest: Schema<AuthenticateRequest> = { name: [1, "string"], password: [2, "string"] };

export interface AuthenticateResponse {
  readonly header: ResponseHeader | undefined;
  readonly token: string;
}

export const authenticateResponse: Schema<AuthenticateResponse> = {
  header: [1, "message", () => responseHeader],
  token: [2, "string"],
};

/** Empty. */
export type StatusRequest = Readonly<Record<never, never>>;

export const statusRequest: Schema<StatusRequest> = {};

export interface StatusResponse {
  readonly header: ResponseHeader | undefined;
  readonly version: string;
}

export const statusResponse: Schema<StatusResponse> = {
  header: [1, "message", () => responseHeader],
  version: [2, "string"],
};
