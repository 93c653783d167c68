import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** The Go module that names kube-apiserver, etcd and etcdctl with their versions. */
export const TOOLS_DIRECTORY: string = join(import.meta.dirname, "..", "..", "tools");

/** What is built: the name of the binary, and its package. */
export const KUBE_PROGRAMS = {
  etcd: "go.etcd.io/etcd/server/v3",
  etcdctl: "go.etcd.io/etcd/etcdctl/v3",
  "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
} as const;

type KubeProgram = keyof typeof KUBE_PROGRAMS;

/** Flags of `go build`. The version is what a kube-apiserver would otherwise not know about itself. */
export const BUILD_FLAGS: readonly string[] = [
  "-trimpath",
  `-ldflags=${[
    "-s -w",
    "-X k8s.io/component-base/version.gitVersion=v1.36.3",
    "-X k8s.io/component-base/version.gitMajor=1",
    "-X k8s.io/component-base/version.gitMinor=36",
  ].join(" ")}`,
];

/** Environment of every `go` call: nothing of the machine's own flags, no C compiler. */
export function goEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false -mod=readonly", GOWORK: "off" };
}

/** Where each binary lies. */
export type KubeBinaries = Readonly<Record<KubeProgram, string>>;

const HOW = "run `npm run setup:kube` once";

/** Undefined when there is no Go. */
function goVersion(): string | undefined {
  try {
    const options = { cwd: TOOLS_DIRECTORY, env: goEnvironment(), encoding: "utf8", stdio: "pipe" } as const;
    return execFileSync("go", ["env", "GOVERSION"], options).trim();
  } catch {
    return undefined;
  }
}

/**
 * Where the binaries of this checkout belong: outside of it, so that a fresh clone finds them. Undefined when there is
 * no Go to build them with.
 */
export function kubeCacheDirectory(): string | undefined {
  const version = goVersion();
  if (version === undefined) return undefined;
  const key = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) key.update(readFileSync(join(TOOLS_DIRECTORY, file))).update("\0");
  key.update([version, process.arch, ...BUILD_FLAGS].join("\0"));
  const cache = process.env["XDG_CACHE_HOME"] ?? "";
  return join(cache === "" ? join(homedir(), ".cache") : cache, "bulrush-e2e", key.digest("hex").slice(0, 32));
}

/** The binaries in `directory`; undefined unless all are there. */
export function binariesIn(directory: string): KubeBinaries | undefined {
  const binaries = {
    etcd: join(directory, "etcd"),
    etcdctl: join(directory, "etcdctl"),
    "kube-apiserver": join(directory, "kube-apiserver"),
  };
  try {
    for (const file of Object.values(binaries)) accessSync(file, constants.X_OK);
    return binaries;
  } catch {
    return undefined;
  }
}

let known: KubeBinaries | undefined;

/** The binaries that were built for this checkout; undefined where they were not. */
function findKubeBinaries(): KubeBinaries | undefined {
  if (known !== undefined) return known;
  const directory = kubeCacheDirectory();
  if (directory !== undefined) known = binariesIn(directory);
  return known;
}

/**
 * The binaries that were built for this checkout.
 *
 * @throws Error that says how to get them.
 */
export function kubeBinaries(): KubeBinaries {
  const binaries = findKubeBinaries();
  if (binaries === undefined) throw new Error(`kube-apiserver and etcd are not built; ${HOW}`);
  return binaries;
}

/**
 * The `skip` of a test that needs a real kube-apiserver or etcd: false where they are there, else the typed reason.
 * With CI=true nothing is skipped, so that such a test fails where the binaries are missing.
 */
export function skipWithoutKube(): string | false {
  if (process.env["CI"] === "true" || findKubeBinaries() !== undefined) return false;
  return `[binary] kube-apiserver and etcd are not built; ${HOW} (needs Go, about 5 minutes)`;
}
