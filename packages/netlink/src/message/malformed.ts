import { NETLINK_ERROR_CODES, NetlinkError } from "../errors.ts";

/** The error for bytes that are not what the protocol says. */
export function malformed(what: string): NetlinkError {
  return new NetlinkError(`Malformed netlink message: ${what}`, {
    code: NETLINK_ERROR_CODES.malformed,
    op: "Read netlink message",
  });
}
