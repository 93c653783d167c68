import { type Flow, openConntrack } from "@bulrush/netlink";

/** A connection that the kernel tracks. */
export type TrackedFlow = Flow;

/** All connections of this network namespace, of both families. Throws NETLINK_SYSCALL. */
export function readTrackedFlows(): readonly TrackedFlow[] {
  const conntrack = openConntrack();
  try {
    return conntrack.flows();
  } finally {
    conntrack.close();
  }
}
