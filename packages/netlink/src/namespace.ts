import { assert } from "@bulrush/base";
import { closeSync, openSync, stat } from "node:fs";
import { NETLINK_ERROR_CODES, NetlinkError } from "./errors.ts";
import { errnoName, errnoOf, systemError } from "./system/errno.ts";
import { native } from "./system/native.ts";

/** A network namespace: the path of its file ("/run/netns/x", "/proc/1/ns/net") or an open file descriptor of it. */
export type NamespaceRef = string | number;

/** linux/sched.h */
const CLONE_NEWNET = 0x40000000;

let poolWarmed = false;

/** Opens the namespace that the calling thread is in. The caller closes the file descriptor. */
export function openOwnNamespace(): number {
  return openNamespace("/proc/thread-self/ns/net");
}

/** Opens a namespace by path. The caller closes the file descriptor. */
export function openNamespace(path: string): number {
  try {
    return openSync(path, "r");
  } catch (error) {
    const errno = errnoOf(error);
    throw new NetlinkError(`Open network namespace '${path}' failed: ${errnoName(errno)}`, {
      code: NETLINK_ERROR_CODES.syscall,
      op: "Open network namespace",
      errno,
      errnoName: errnoName(errno),
      cause: error,
      data: { path },
    });
  }
}

/**
 * Runs `fn` with the calling thread inside another network namespace, and comes back whatever happens. 4 us.
 *
 * Synchronous only: take sockets inside as file descriptors, and use only synchronous `fs` there. A promise, timer or
 * `net.connect` started inside goes on outside. Not being able to come back is a bug that ends the process: a thread
 * in the wrong namespace would program the wrong host.
 */
export function withNetworkNamespace<T>(namespace: NamespaceRef, fn: () => T): T {
  warmPool();
  const own = openOwnNamespace();
  const target = typeof namespace === "number" ? namespace : openNamespace(namespace);
  try {
    enter(target);
    try {
      return fn();
    } finally {
      const back = native().setns(own, CLONE_NEWNET);
      assert(back === 0, () => `Could not return to the own network namespace: ${errnoName(native().errno())}`);
    }
  } finally {
    if (typeof namespace !== "number") closeSync(target);
    closeSync(own);
  }
}

function enter(fd: number): void {
  if (native().setns(fd, CLONE_NEWNET) < 0) throw systemError("Enter network namespace", native().errno());
}

/**
 * Threads of libuv's pool are born in the namespace of the thread that first needs one, and stay there: all of them
 * are made at the first asynchronous call, so one is made before the first move.
 */
function warmPool(): void {
  if (poolWarmed) return;
  poolWarmed = true;
  stat("/", () => {});
}
