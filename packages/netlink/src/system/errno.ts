import { constants } from "node:os";
import { NETLINK_ERROR_CODES, NetlinkError, type NetlinkErrorCode } from "../errors.ts";

const NAMES = new Map<number, string>();
for (const [name, value] of Object.entries(constants.errno)) if (!NAMES.has(value)) NAMES.set(value, name);
// Node.js lists what POSIX has; these are Linux's own (asm-generic/errno.h) and come from netlink.
NAMES.set(85, "ERESTART");
NAMES.set(95, "EOPNOTSUPP");
NAMES.set(117, "EUCLEAN");
NAMES.set(524, "ENOTSUPP");
NAMES.set(11, "EAGAIN");

/** "ENOENT" for 2; "E999" for what nobody knows. */
export function errnoName(errno: number): string {
  return NAMES.get(errno) ?? `E${errno}`;
}

/** A {@link NetlinkError} for a system call that failed with this (positive) errno. */
export function systemError(
  op: string,
  errno: number,
  code: NetlinkErrorCode = NETLINK_ERROR_CODES.syscall,
  data: Readonly<Record<string, unknown>> = {},
): NetlinkError {
  const name = errnoName(errno);
  return new NetlinkError(`${op} failed: ${name}`, { code, op, errno, errnoName: name, data });
}

/** The positive errno of an error thrown by `node:fs`, 0 for anything else. */
export function errnoOf(error: unknown): number {
  if (!(error instanceof Error) || !("errno" in error) || typeof error.errno !== "number") return 0;
  return -error.errno;
}
