import { CodedError } from "@bulrush/base";

/** Every code that this package throws. Codes are never reused. */
export const NETLINK_ERROR_CODES = {
  /** A system call failed: socket, bind, setsockopt, setns, open. */
  syscall: "NETLINK_SYSCALL",
  /** The kernel refused a request. `errno`, `extAck` and `offset` say why. */
  refused: "NETLINK_REFUSED",
  /** The receive buffer ran over (ENOBUFS): answers or events are lost, the socket goes on. */
  overrun: "NETLINK_OVERRUN",
  /** One write is larger than the send buffer (EMSGSIZE). `data.bytes` and `data.limit` say how much. */
  tooLarge: "NETLINK_TOO_LARGE",
  /** A dump kept being interrupted by changes. */
  dumpInterrupted: "NETLINK_DUMP_INTERRUPTED",
  /** Bytes from the kernel (or a test) that are not what the protocol says. */
  malformed: "NETLINK_MALFORMED",
  /** The answer of a request did not come. */
  noAnswer: "NETLINK_NO_ANSWER",
  /** The caller's input cannot be encoded: a bad address, an empty conntrack filter. */
  argument: "NETLINK_ARGUMENT",
  /** The socket was closed before. */
  closed: "NETLINK_CLOSED",
} as const;

/** What each means stands at {@link NETLINK_ERROR_CODES}. */
export type NetlinkErrorCode = (typeof NETLINK_ERROR_CODES)[keyof typeof NETLINK_ERROR_CODES];

/** What an error is made of. */
export interface NetlinkErrorOptions {
  readonly code: NetlinkErrorCode;
  /** What was being attempted: "Add route", "Dump links". */
  readonly op: string;
  /** Positive errno, 0 when none is known. */
  readonly errno?: number;
  readonly errnoName?: string;
  /** The kernel's own words (NLMSGERR_ATTR_MSG). */
  readonly extAck?: string;
  /** Byte offset of the offending attribute in the request (NLMSGERR_ATTR_OFFS). */
  readonly offset?: number;
  /** Sequence number of the refused message. */
  readonly seq?: number;
  readonly cause?: unknown;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** An operational error of a netlink socket. Match on `code`, or with {@link hasErrno} and its kin. */
export class NetlinkError extends CodedError {
  override readonly name = "NetlinkError";
  /** Positive; 0 when there is none. */
  readonly errno: number;
  /** "ENOENT" and so on; empty when there is no errno. */
  readonly errnoName: string;
  /** The kernel's own words, where it has any. */
  readonly extAck: string | undefined;
  /** Bytes from the request's head to the attribute that the kernel found fault with. */
  readonly offset: number | undefined;
  /** Of the refused message. */
  readonly seq: number | undefined;

  constructor(message: string, options: NetlinkErrorOptions) {
    super(message, {
      code: options.code,
      op: options.op,
      ...(options.cause === undefined ? {} : { cause: options.cause }),
      data: {
        ...options.data,
        ...(options.errnoName === undefined ? {} : { errno: options.errnoName }),
        ...(options.extAck === undefined ? {} : { extAck: options.extAck }),
        ...(options.offset === undefined ? {} : { offset: options.offset }),
      },
    });
    this.errno = options.errno ?? 0;
    this.errnoName = options.errnoName ?? "";
    this.extAck = options.extAck;
    this.offset = options.offset;
    this.seq = options.seq;
  }
}

/** True for a {@link NetlinkError} with one of these errno names. */
export function hasErrno(error: unknown, ...names: readonly string[]): boolean {
  return error instanceof NetlinkError && names.includes(error.errnoName);
}

/** The object was not there: ENOENT (nf_tables, conntrack), ESRCH (routes), ENODEV (links), EADDRNOTAVAIL (addresses). */
export function isNotFound(error: unknown): boolean {
  return hasErrno(error, "ENOENT", "ESRCH", "ENODEV", "EADDRNOTAVAIL");
}

/** True for EEXIST, of whatever kind of object. */
export function isAlreadyExists(error: unknown): boolean {
  return hasErrno(error, "EEXIST");
}
