import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Container } from "../deploy/workload.ts";
import type { NetNamespace } from "../lab/namespace.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
/** By the name of the image in the manifests: what its entry point runs. */
const ENTRY_POINTS: Readonly<Record<string, string>> = {
  "bulrush-typha": "packages/typha/bin/bulrush-typha.ts",
  "bulrush-agent": "packages/agent/bin/bulrush-agent.ts",
};

/** A directory of the host that is visible in the container. */
export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

export interface ContainerOptions {
  readonly container: Container;
  /** The host's network: the containers of our manifests have no other. */
  readonly network: NetNamespace;
  readonly env: Readonly<Record<string, string>>;
  readonly mounts: readonly Mount[];
  /** An empty directory for the root file system. Made when missing. */
  readonly root: string;
  readonly logFile: string;
  /** More for Node's command line. */
  readonly nodeArgs?: readonly string[];
}

/**
 * A process as a container runtime starts it: a root file system of its own, read-only if the manifest says so, with the
 * mounts of the manifest and nothing else of the host but what a base image has (the machine's /usr and our sources take
 * its place); the capabilities of the manifest and no way to more; only the variables that it is given.
 */
export class ContainerProcess {
  readonly #child: ChildProcess;
  /** Its standard output and error. */
  readonly logFile: string;
  readonly #exited: Promise<number | undefined>;
  #isRunning = true;

  private constructor(child: ChildProcess, logFile: string) {
    this.#child = child;
    this.logFile = logFile;
    this.#exited = once(child, "exit").then(([code]) => {
      this.#isRunning = false;
      return (code as number | null) ?? undefined;
    });
  }

  static start(options: ContainerOptions): ContainerProcess {
    const { container, env, network, root, logFile, nodeArgs = [] } = options;
    const image = container.image.split(":")[0] ?? "";
    const entry = ENTRY_POINTS[image];
    if (entry === undefined) throw new Error(`No image ${container.image} in the lab`);
    mkdirSync(root, { recursive: true });
    mkdirSync(dirname(logFile), { recursive: true });
    const capabilities = (container.securityContext?.capabilities?.add ?? []).map((name) => `+${name.toLowerCase()}`);
    const bounding = `--bounding-set=${["-all", ...capabilities].join(",")}`;
    const noMore = container.securityContext?.allowPrivilegeEscalation === false ? ["--no-new-privs"] : [];
    const node = [process.execPath, "--conditions=bulrush-source", ...nodeArgs, join(ROOT, entry)];
    const program = ["setpriv", bounding, "--inh-caps=-all", "--ambient-caps=-all", ...noMore, ...node];
    const log = openSync(logFile, "a");
    const launch = (): ChildProcess =>
      spawn("unshare", ["--mount", "--propagation=private", "sh", "-euc", rootScript(options), "sh", ...program], {
        stdio: ["ignore", log, log],
        env: { PATH: process.env["PATH"] ?? "", HOME: "/root", ...env },
      });
    const child = network.run(launch);
    closeSync(log);
    return new ContainerProcess(child, logFile);
  }

  /** Its directory in /proc, which may be that of another process namespace. Undefined before it has begun. */
  get procDirectory(): string | undefined {
    try {
      return `/proc/${readFileSync(pidFileOf(this.logFile), "utf8").trim()}`;
    } catch {
      return undefined;
    }
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** The exit code; undefined when a signal ended it. */
  get exited(): Promise<number | undefined> {
    return this.#exited;
  }

  kill(signal: NodeJS.Signals): void {
    if (this.#isRunning) this.#child.kill(signal);
  }

  logTail(lines = 20): string {
    return readFileSync(this.logFile, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
  }
}

function pidFileOf(logFile: string): string {
  return `${logFile}.pid`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Makes the root and becomes the program, which keeps the process id. */
function rootScript({ container, logFile, mounts, root }: ContainerOptions): string {
  const bind = ({ source, target, readOnly }: Mount): string[] => [
    `mkdir -p ${quoted(root + target)}`,
    `mount --rbind ${quoted(source)} ${quoted(root + target)}`,
    ...(readOnly ? [`mount -o remount,bind,ro ${quoted(root + target)}`] : []),
  ];
  const image: readonly Mount[] = [
    { source: "/usr", target: "/usr", readOnly: false },
    { source: "/proc", target: "/proc", readOnly: false },
    { source: "/dev", target: "/dev", readOnly: false },
  ];
  // The last one: the clone may stand below a directory that a volume hides, such as /tmp.
  const sources: Mount = { source: ROOT, target: ROOT, readOnly: false };
  return [
    // As /proc has it.
    `read -r pid rest </proc/self/stat; echo "$pid" >${quoted(pidFileOf(logFile))}`,
    `mount -t tmpfs -o mode=0755 none ${quoted(root)}`,
    `mkdir -p ${quoted(`${root}/etc`)} ${quoted(`${root}/root`)}`,
    `cp /etc/ld.so.cache /etc/hosts /etc/passwd ${quoted(`${root}/etc/`)}`,
    // Where the machine has them as links they are links here.
    `for name in bin sbin lib lib64; do if [ -L /$name ]; then cp -P /$name ${quoted(root)}/; elif [ -d /$name ]; then mkdir ${quoted(root)}/$name; mount --rbind /$name ${quoted(root)}/$name; fi; done`,
    ...[...image, ...mounts, sources].flatMap(bind),
    ...(container.securityContext?.readOnlyRootFilesystem === true ? [`mount -o remount,ro ${quoted(root)}`] : []),
    `exec chroot ${quoted(root)} "$@"`,
  ].join("\n");
}
