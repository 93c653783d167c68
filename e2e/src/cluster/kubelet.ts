import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EnvEntry, PodTemplate, ProjectedSource, Volume } from "../deploy/workload.ts";
import { onlyContainer } from "../deploy/workload.ts";
import type { KubeAdmin, KubeObject } from "../kube/kube-admin.ts";
import type { NetNamespace } from "../lab/namespace.ts";
import { ContainerProcess, type Mount } from "./container.ts";
import { getInside } from "./namespace-http.ts";

const ACCOUNT_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount";
/** A kubelet waits for the period of the manifest, seconds long; the lab looks more often. */
const PROBE_MS = 100;
const RESTART_MS = 200;

/** A host of the cluster. */
export interface KubeNode {
  readonly name: string;
  readonly address: string;
  readonly network: NetNamespace;
  /** Its file system, as far as pods see it. */
  readonly directory: string;
}

export interface KubeletOptions {
  readonly admin: KubeAdmin;
  /** The API server as pods are told of it. */
  readonly service: { readonly host: string; readonly port: number; readonly caPem: string };
}

/** A pod that runs. */
export interface RunningPod {
  readonly name: string;
  readonly namespace: string;
  readonly node: KubeNode;
  /** As it was found by the last probe. */
  readonly isReady: boolean;
  readonly readyText: string;
  readonly process: ContainerProcess;
  readonly restarts: number;
  /** Its volumes as their Secrets and ConfigMaps are now: a kubelet does so within a minute or two. */
  refreshVolumes(): Promise<void>;
  /** Ends it as a deleted pod ends: SIGTERM, and SIGKILL after the grace period. The exit code. */
  stop(): Promise<number | undefined>;
}

/**
 * Runs pods of our manifests on hosts of the lab, as a kubelet does: variables from fields and Secrets, volumes from
 * Secrets, ConfigMaps and the host, the account's token, capabilities; probes; a container that ends is started again.
 */
export class Kubelet {
  readonly #options: KubeletOptions;

  constructor(options: KubeletOptions) {
    this.#options = options;
  }

  async run(
    template: PodTemplate,
    name: string,
    namespace: string,
    node: KubeNode,
    nodeArgs: readonly string[] = [],
  ): Promise<RunningPod> {
    const container = onlyContainer(template);
    const directory = join(node.directory, "pods", name);
    const env: Record<string, string> = {
      KUBERNETES_SERVICE_HOST: this.#options.service.host,
      KUBERNETES_SERVICE_PORT: String(this.#options.service.port),
    };
    for (const entry of container.env ?? []) {
      const value = await this.#valueOf(entry, namespace, node);
      if (value !== undefined) env[entry.name] = value;
    }
    const mounts: Mount[] = [await this.#account(template, namespace, directory)];
    for (const { name: volumeName, mountPath, readOnly = false } of container.volumeMounts ?? []) {
      const volume = template.spec.volumes?.find((one) => one.name === volumeName);
      if (volume === undefined) throw new Error(`${name} has no volume ${volumeName}`);
      mounts.push({ source: await this.#source(volume, namespace, node, directory), target: mountPath, readOnly });
    }
    const launch = (): ContainerProcess =>
      ContainerProcess.start({
        container,
        network: node.network,
        env,
        mounts,
        root: join(directory, "root"),
        logFile: join(directory, "log"),
        nodeArgs,
      });
    const refresh = async (): Promise<void> => {
      for (const volume of template.spec.volumes ?? [])
        if (volume.projected !== undefined) await this.#source(volume, namespace, node, directory);
    };
    return new Pod(template, name, namespace, node, { launch, refresh });
  }

  async #valueOf({ value, valueFrom }: EnvEntry, namespace: string, node: KubeNode): Promise<string | undefined> {
    const path = valueFrom?.fieldRef?.fieldPath;
    if (path === "spec.nodeName") return node.name;
    if (path === "metadata.namespace") return namespace;
    const ref = valueFrom?.secretKeyRef;
    if (ref === undefined) return value;
    const data = (await this.#data("Secret", ref.name, namespace))[ref.key];
    if (data === undefined && ref.optional !== true) throw new Error(`The Secret ${ref.name} has no ${ref.key}`);
    return data?.toString();
  }

  async #account(template: PodTemplate, namespace: string, directory: string): Promise<Mount> {
    const source = join(directory, "account");
    mkdirSync(source, { recursive: true });
    const token = await this.#options.admin.tokenOf(namespace, template.spec.serviceAccountName);
    writeFileSync(join(source, "token"), token);
    writeFileSync(join(source, "ca.crt"), this.#options.service.caPem);
    writeFileSync(join(source, "namespace"), namespace);
    return { source, target: ACCOUNT_DIRECTORY, readOnly: true };
  }

  async #source(volume: Volume, namespace: string, node: KubeNode, directory: string): Promise<string> {
    if (volume.hostPath !== undefined) {
      const { path } = volume.hostPath;
      // The kernel's own files are those of whoever looks.
      if (path.startsWith("/proc/")) return path;
      const source = join(node.directory, path);
      mkdirSync(source, { recursive: true });
      return source;
    }
    const source = join(directory, "volumes", volume.name);
    mkdirSync(source, { recursive: true });
    const files = new Map<string, Buffer>();
    for (const part of volume.projected?.sources ?? []) await this.#read(part, namespace, files);
    project(files, source);
    return source;
  }

  async #read({ secret, configMap }: ProjectedSource, namespace: string, files: Map<string, Buffer>): Promise<void> {
    for (const [kind, part] of [
      ["Secret", secret],
      ["ConfigMap", configMap],
    ] as const) {
      if (part === undefined) continue;
      const data = await this.#data(kind, part.name, namespace);
      for (const { key, path } of part.items) {
        const bytes = data[key];
        if (bytes === undefined) throw new Error(`The ${kind} ${part.name} has no ${key}`);
        files.set(path, bytes);
      }
    }
  }

  async #data(
    kind: "Secret" | "ConfigMap",
    name: string,
    namespace: string,
  ): Promise<Readonly<Record<string, Buffer>>> {
    const object = await this.#options.admin.get({ apiVersion: "v1", kind, metadata: { name, namespace } });
    const data = (object as KubeObject & { readonly data?: Readonly<Record<string, string>> }).data ?? {};
    const encoding = kind === "Secret" ? "base64" : "utf8";
    return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, encoding)]));
  }
}

/**
 * Files of a projected volume as a kubelet keeps them: all change at once.
 *
 * ```
 *   tls.crt -> ..data/tls.crt      ..data -> ..2      ..2/tls.crt
 * ```
 */
function project(files: ReadonlyMap<string, Buffer>, directory: string): void {
  const data = join(directory, "..data");
  let version = 1;
  while (existsSync(join(directory, `..${version}`))) version++;
  const fresh = `..${version}`;
  mkdirSync(join(directory, fresh));
  for (const [path, bytes] of files) writeFileSync(join(directory, fresh, path), bytes);
  rmSync(`${data}_tmp`, { force: true });
  symlinkSync(fresh, `${data}_tmp`);
  renameSync(`${data}_tmp`, data);
  for (const path of files.keys())
    if (!existsSync(join(directory, path))) symlinkSync(join("..data", path), join(directory, path));
}

interface PodWork {
  readonly launch: () => ContainerProcess;
  readonly refresh: () => Promise<void>;
}

/** Invariant: `#process` runs, or is about to be started again, until `stop` is called. */
class Pod implements RunningPod {
  readonly name: string;
  readonly namespace: string;
  readonly node: KubeNode;
  readonly #template: PodTemplate;
  readonly #launch: () => ContainerProcess;
  readonly #refresh: () => Promise<void>;
  #process: ContainerProcess;
  #isStopping = false;
  #isReady = false;
  #readyText = "not asked yet";
  #restarts = 0;

  constructor(template: PodTemplate, name: string, namespace: string, node: KubeNode, { launch, refresh }: PodWork) {
    this.#refresh = refresh;
    this.#template = template;
    this.name = name;
    this.namespace = namespace;
    this.node = node;
    this.#launch = launch;
    this.#process = launch();
    void this.#keepRunning();
    void this.#probe();
  }

  get isReady(): boolean {
    return this.#isReady && this.#process.isRunning;
  }

  get readyText(): string {
    return this.#readyText;
  }

  get process(): ContainerProcess {
    return this.#process;
  }

  get restarts(): number {
    return this.#restarts;
  }

  refreshVolumes(): Promise<void> {
    return this.#refresh();
  }

  async stop(): Promise<number | undefined> {
    this.#isStopping = true;
    const grace = setTimeout(
      () => this.#process.kill("SIGKILL"),
      (this.#template.spec.terminationGracePeriodSeconds ?? 30) * 1000,
    );
    this.#process.kill("SIGTERM");
    const code = await this.#process.exited;
    clearTimeout(grace);
    this.#isReady = false;
    return code;
  }

  async #keepRunning(): Promise<void> {
    for (;;) {
      await this.#process.exited;
      if (this.#isStopping) return;
      await new Promise((resolve) => setTimeout(resolve, RESTART_MS));
      if (this.#isStopping) return;
      this.#restarts++;
      this.#process = this.#launch();
    }
  }

  async #probe(): Promise<void> {
    const probe = onlyContainer(this.#template).readinessProbe?.httpGet;
    if (probe === undefined) return;
    while (!this.#isStopping) {
      try {
        const { status, text } = await getInside(this.node.network, probe.port, probe.path);
        this.#isReady = status === 200;
        this.#readyText = text;
      } catch (error) {
        this.#isReady = false;
        this.#readyText = (error as Error).message;
      }
      await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
    }
  }
}
