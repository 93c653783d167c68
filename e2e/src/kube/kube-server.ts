import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kubeBinaries } from "./binaries.ts";
import { Daemon } from "./daemon.ts";
import { EtcdServer } from "./etcd-server.ts";
import { freePorts } from "./free-ports.ts";
import { KubeAdmin } from "./kube-admin.ts";
import { ADMIN_TOKEN, type KubeFiles, writeKubeconfig, writeKubeFiles } from "./kube-files.ts";

export interface KubeOptions {
  /**
   * Plural names without a watch cache (`pods`, `networkpolicies.crd.projectcalico.org`): after
   * {@link EtcdServer.compact} their watches, continued lists and exact lists get 410.
   */
  readonly uncached?: readonly string[];
  /** `ListFromCacheSnapshot: false`: after a compaction only lists get 410. */
  readonly featureGates?: Readonly<Record<string, boolean>>;
  readonly extraArgs?: readonly string[];
}

/**
 * A real kube-apiserver on 127.0.0.1 with an etcd of its own, and nothing else: no controllers run, no kubelet, no
 * scheduler. One a suite (it takes about 4 s and 350 MB), a namespace a test.
 *
 *     apiserver.kill() / restart() / pause() / resume()   the API server, on the same port
 *     etcd.daemon.kill() / restart() / ...                the store behind it, on the same data
 *     etcd.compact()                                      410 Gone, see KubeOptions
 */
export class KubeServer {
  readonly url: string;
  readonly port: number;
  readonly directory: string;
  readonly files: KubeFiles;
  /** The admin's, for `KUBECONFIG`. */
  readonly kubeconfig: string;
  readonly admin: KubeAdmin;
  readonly etcd: EtcdServer;
  readonly apiserver: Daemon;
  readonly #options: KubeOptions;

  private constructor(
    fields: Pick<KubeServer, "port" | "directory" | "files" | "kubeconfig" | "admin" | "etcd" | "apiserver"> & {
      readonly options: KubeOptions;
    },
  ) {
    this.port = fields.port;
    this.url = `https://127.0.0.1:${fields.port}`;
    this.directory = fields.directory;
    this.files = fields.files;
    this.kubeconfig = fields.kubeconfig;
    this.admin = fields.admin;
    this.etcd = fields.etcd;
    this.apiserver = fields.apiserver;
    this.#options = fields.options;
  }

  /** Starts both and waits until the API server is ready. */
  static async start(options: KubeOptions = {}): Promise<KubeServer> {
    const program = kubeBinaries()["kube-apiserver"];
    const directory = mkdtempSync(join(tmpdir(), "bulrush-kube-"));
    process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
    const files = await writeKubeFiles(directory);
    const etcd = await EtcdServer.start();
    const [port = 0] = await freePorts(1);
    const url = `https://127.0.0.1:${port}`;
    const admin = new KubeAdmin({ url, caPem: files.caPem, token: ADMIN_TOKEN });
    let apiserver: Daemon;
    try {
      apiserver = await Daemon.start({
        program,
        args: apiserverArgs({ port, files, etcd }, options),
        env: { HOME: directory },
        logFile: join(directory, "kube-apiserver.log"),
        isReady: async () => (await admin.request("GET", "/readyz")).status === 200,
      });
    } catch (error) {
      await etcd.stop();
      throw error;
    }
    const kubeconfig = join(directory, "kubeconfig");
    writeKubeconfig(kubeconfig, url, files.caPem, ADMIN_TOKEN);
    return new KubeServer({ port, directory, files, kubeconfig, admin, etcd, apiserver, options });
  }

  /** Kills the API server and starts it again, with these options instead of those that it was started with. */
  async restart(changes: KubeOptions = {}): Promise<void> {
    await this.apiserver.restart(apiserverArgs(this, { ...this.#options, ...changes }));
  }

  /** The same hands for a bearer of `token`. The caller closes them. */
  clientFor(token: string): KubeAdmin {
    return new KubeAdmin({ url: this.url, caPem: this.files.caPem, token });
  }

  /** A kubeconfig of a bearer of `token` (a service account's, say), in the server's directory. */
  kubeconfigFor(name: string, token: string): string {
    const file = join(this.directory, `${name}.kubeconfig`);
    writeKubeconfig(file, this.url, this.files.caPem, token);
    return file;
  }

  /** Ends both for good. */
  async stop(): Promise<void> {
    this.admin.close();
    await this.apiserver.kill();
    await this.etcd.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

function apiserverArgs(
  { port, files, etcd }: Pick<KubeServer, "port" | "files" | "etcd">,
  options: KubeOptions,
): readonly string[] {
  const uncached = (options.uncached ?? []).map((plural) => `${plural}#0`);
  const gates = Object.entries(options.featureGates ?? {}).map(([name, on]) => `${name}=${String(on)}`);
  return [
    `--etcd-servers=${etcd.endpoint}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    "--advertise-address=127.0.0.1",
    `--tls-cert-file=${files.server.cert}`,
    `--tls-private-key-file=${files.server.key}`,
    `--client-ca-file=${files.server.ca}`,
    `--token-auth-file=${files.tokens}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${files.serviceAccountPublicKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    "--service-cluster-ip-range=10.96.0.0/16",
    "--authorization-mode=RBAC",
    "--endpoint-reconciler-type=none",
    "--allow-privileged=true",
    "--profiling=false",
    "--enable-priority-and-fairness=false",
    "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
    ...(uncached.length > 0 ? [`--watch-cache-sizes=${uncached.join(",")}`] : []),
    ...(gates.length > 0 ? [`--feature-gates=${gates.join(",")}`] : []),
    ...(options.extraArgs ?? []),
  ];
}
