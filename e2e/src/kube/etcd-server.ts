import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CertificateAuthority, type TlsFiles, writeTlsFiles } from "../lab/certificates.ts";
import { kubeBinaries } from "./binaries.ts";
import { Daemon } from "./daemon.ts";
import { freePorts } from "./free-ports.ts";

const run = promisify(execFile);

export interface EtcdOptions {
  /** Serve TLS and ask each client for a certificate of {@link EtcdServer.tls}'s CA. Default: plain. */
  readonly tls?: boolean;
  /** Users must log in; "root" may do everything. Default: anybody may. */
  readonly rootPassword?: string;
  readonly extraArgs?: readonly string[];
}

/**
 * A real etcd of one member on 127.0.0.1, in a temporary directory. It ends with this process; {@link EtcdServer.stop}
 * also takes the directory away.
 */
export class EtcdServer {
  /** `http://127.0.0.1:PORT` or `https://...`. */
  readonly endpoint: string;
  readonly port: number;
  readonly directory: string;
  /** The CA, and a client's certificate and key, where it serves TLS. */
  readonly tls: TlsFiles | undefined;
  readonly daemon: Daemon;
  readonly #login: readonly string[];

  private constructor(fields: {
    readonly port: number;
    readonly directory: string;
    readonly tls: TlsFiles | undefined;
    readonly daemon: Daemon;
    readonly login: readonly string[];
  }) {
    this.port = fields.port;
    this.endpoint = `${fields.tls === undefined ? "http" : "https"}://127.0.0.1:${fields.port}`;
    this.directory = fields.directory;
    this.tls = fields.tls;
    this.daemon = fields.daemon;
    this.#login = fields.login;
  }

  /** Starts one and waits until it serves (0.1 to 1 s). */
  static async start(options: EtcdOptions = {}): Promise<EtcdServer> {
    const { etcd } = kubeBinaries();
    const directory = mkdtempSync(join(tmpdir(), "bulrush-etcd-"));
    process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
    const [port = 0, peerPort = 0] = await freePorts(2);
    const files = options.tls === true ? await makeTls(directory) : undefined;
    const scheme = files === undefined ? "http" : "https";
    const client = `${scheme}://127.0.0.1:${port}`;
    const peer = `http://127.0.0.1:${peerPort}`;
    const tlsArgs =
      files === undefined
        ? []
        : [
            `--cert-file=${files.server.cert}`,
            `--key-file=${files.server.key}`,
            `--trusted-ca-file=${files.server.ca}`,
            "--client-cert-auth",
          ];
    const daemon = await Daemon.start({
      program: etcd,
      args: [
        "--name=e",
        `--data-dir=${join(directory, "data")}`,
        `--listen-client-urls=${client}`,
        `--advertise-client-urls=${client}`,
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=e=${peer}`,
        "--unsafe-no-fsync",
        "--log-level=warn",
        ...tlsArgs,
        ...(options.extraArgs ?? []),
      ],
      logFile: join(directory, "etcd.log"),
      isReady: async () => {
        await etcdctl(client, files?.client, [], ["get", "x", "--command-timeout=2s"], { lenient: true });
        return true;
      },
    });
    const make = (login: readonly string[]): EtcdServer =>
      new EtcdServer({ port, directory, tls: files?.client, daemon, login });
    const { rootPassword } = options;
    if (rootPassword === undefined) return make([]);
    const open = make([]);
    await open.ctl("user", "add", `root:${rootPassword}`);
    await open.ctl("user", "grant-role", "root", "root");
    await open.ctl("auth", "enable");
    return make([`--user=root:${rootPassword}`]);
  }

  /** Runs `etcdctl ARGS` against it, as root where users log in. Its standard output. */
  ctl(...args: readonly string[]): Promise<string> {
    return etcdctl(this.endpoint, this.tls, this.#login, args);
  }

  /** Runs `etcdctl txn` with its input: comparisons, an empty line, puts for success, an empty line, for failure. */
  transaction(input: string): Promise<string> {
    return etcdctl(this.endpoint, this.tls, this.#login, ["txn"], { input });
  }

  /** The newest revision. */
  async revision(): Promise<number> {
    const [status] = JSON.parse(await this.ctl("endpoint", "status", "-w", "json")) as {
      Status: { header: { revision: number } };
    }[];
    return status?.Status.header.revision ?? 0;
  }

  /** Forgets everything before a revision, the newest one by default. Returns it. */
  async compact(revision?: number): Promise<number> {
    const at = revision ?? (await this.revision());
    await this.ctl("compact", String(at));
    return at;
  }

  /** Ends it for good. */
  async stop(): Promise<void> {
    await this.daemon.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

async function makeTls(directory: string): Promise<{ readonly server: TlsFiles; readonly client: TlsFiles }> {
  const ca = await CertificateAuthority.create("etcd CA");
  const server = await ca.issue({ commonName: "etcd", ipSans: ["127.0.0.1"], dnsSans: ["localhost"] });
  const client = await ca.issue({ commonName: "bulrush" });
  return {
    server: writeTlsFiles(directory, "server", ca, server),
    client: writeTlsFiles(directory, "client", ca, client),
  };
}

async function etcdctl(
  endpoint: string,
  tls: TlsFiles | undefined,
  login: readonly string[],
  args: readonly string[],
  options: { readonly input?: string /** "permission denied" counts as an answer. */; readonly lenient?: boolean } = {},
): Promise<string> {
  const tlsArgs = tls === undefined ? [] : [`--cacert=${tls.ca}`, `--cert=${tls.cert}`, `--key=${tls.key}`];
  try {
    const running = run(kubeBinaries().etcdctl, [`--endpoints=${endpoint}`, ...tlsArgs, ...login, ...args], {
      env: {},
      maxBuffer: 64 << 20,
      encoding: "utf8",
    });
    running.child.stdin?.end(options.input ?? "");
    return (await running).stdout;
  } catch (error) {
    const { stderr = "" } = error as { readonly stderr?: string };
    if (options.lenient === true && /user name is empty|permission denied/.test(stderr)) return "";
    throw new Error(`etcdctl ${args.join(" ")}: ${stderr.trim() || String(error)}`, { cause: error });
  }
}
