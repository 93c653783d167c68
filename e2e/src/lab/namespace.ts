import { closeSync, mkdirSync, openSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { bindMount, setNetwork, unmount, unshareNetwork } from "./posix.ts";

const CURRENT = "/proc/thread-self/ns/net";

/**
 * A named network namespace: a file under /run/netns, as `ip netns` keeps it, and an open descriptor.
 * It lives until {@link NetNamespace.close}; sockets and processes inside keep the kernel's object alive longer.
 */
export class NetNamespace {
  readonly name: string;
  readonly path: string;
  /** Open descriptor of the namespace, for moving devices into it. */
  readonly fd: number;

  private constructor(name: string, path: string, fd: number) {
    this.name = name;
    this.path = path;
    this.fd = fd;
  }

  /** Makes a new namespace with only a loopback device, which is down. */
  static create(name: string): NetNamespace {
    const path = `/run/netns/${name}`;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "", { flag: "wx" });
    const home = openSync(CURRENT, "r");
    try {
      unshareNetwork();
      bindMount(CURRENT, path);
    } finally {
      setNetwork(home);
      closeSync(home);
    }
    return new NetNamespace(name, path, openSync(path, "r"));
  }

  /**
   * Runs `work` with the calling thread inside, and comes back. Only synchronous work is inside: a promise goes on
   * outside. Processes spawned in it start inside.
   */
  run<T>(work: () => T): T {
    const home = openSync(CURRENT, "r");
    try {
      setNetwork(this.fd);
      return work();
    } finally {
      setNetwork(home);
      closeSync(home);
    }
  }

  close(): void {
    closeSync(this.fd);
    unmount(this.path);
    unlinkSync(this.path);
  }
}
