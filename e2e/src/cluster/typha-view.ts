import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { must } from "@bulrush/base";
import type { Update } from "@bulrush/model";
import { type TLSMaterial, tlsFromParameters } from "@bulrush/sync-client";
import { envValue, onlyContainer, templateOf } from "../deploy/workload.ts";
import type { KubeAdmin, KubeObject } from "../kube/kube-admin.ts";
import type { TlsFiles } from "../lab/certificates.ts";
import { Follower, type FollowerOptions } from "../lab/follower.ts";
import type { RunningPod } from "./kubelet.ts";
import { getInside } from "./namespace-http.ts";
import { PortForward } from "./port-forward.ts";

export const SYNC_PORT = 5473;
const ADMIN_PORT = 9097;

interface ClientsAnswer {
  readonly clients: readonly { readonly hostname: string; readonly appliedSequence: number | null }[];
}

/** Writes the certificate of the agents, as the Secret and the ConfigMap of the manifests have it, into a directory. */
export async function writeAgentTls(admin: KubeAdmin, namespace: string, directory: string): Promise<TlsFiles> {
  mkdirSync(directory, { recursive: true });
  const read = async (kind: string, name: string): Promise<Readonly<Record<string, string>>> => {
    const object = await admin.get({ apiVersion: "v1", kind, metadata: { name, namespace } });
    return object["data"] as Readonly<Record<string, string>>;
  };
  const secret = await read("Secret", "node-certs");
  const { caBundle = "" } = await read("ConfigMap", "typha-ca");
  const file = (name: string, bytes: string | Buffer): string => {
    writeFileSync(join(directory, name), bytes);
    return join(directory, name);
  };
  return {
    ca: file("ca.crt", caBundle),
    cert: file("tls.crt", Buffer.from(secret["tls.crt"] ?? "", "base64")),
    key: file("tls.key", Buffer.from(secret["tls.key"] ?? "", "base64")),
  };
}

/** What the lab knows of a Typha: its stream, as one more agent, and its admin API, as through a port forward. */
export class TyphaView {
  readonly #pod: RunningPod;
  #follower: Follower;
  readonly #tls: FollowerOptions["tls"];
  readonly #serverCN: string;

  private constructor(pod: RunningPod, { tls, serverCN }: Pick<FollowerOptions, "tls" | "serverCN">) {
    this.#pod = pod;
    this.#tls = tls;
    this.#serverCN = serverCN;
    this.#follower = this.#follow();
  }

  #follow(): Follower {
    const { address: host } = this.#pod.node;
    return new Follower({ host, port: SYNC_PORT, tls: this.#tls, serverCN: this.#serverCN });
  }

  /** With the certificate and the rule of the agents' manifest. */
  static async open(admin: KubeAdmin, agents: KubeObject, pod: RunningPod): Promise<TyphaView> {
    const tls = await writeAgentTls(admin, pod.namespace, join(pod.node.directory, "follower"));
    const serverCN = envValue(onlyContainer(templateOf(agents)), "FELIX_TYPHACN") ?? "";
    return new TyphaView(pod, { tls, serverCN });
  }

  /**
   * Resolves once this Typha holds exactly these KVs, with its sequence. Rejects also when the follower was handed over to
   * another Typha, as any client may be: the next call has a new one.
   */
  async reaches(updates: readonly Update[], timeoutMs: number): Promise<number> {
    const sequence = await this.#follower.reaches(updates, timeoutMs).catch((error: unknown) => error as Error);
    const { host } = this.#follower;
    if (host !== undefined && host !== this.#pod.node.address) {
      await this.#follower.stop();
      this.#follower = this.#follow();
      throw new Error(`${this.#pod.name} handed the follower over to ${host}`);
    }
    if (typeof sequence === "number") return sequence;
    throw sequence;
  }

  /** Hosts whose agents told this Typha that they have this sequence in their kernels. */
  async hostsThatApplied(sequence: number): Promise<readonly string[]> {
    const { clients } = (await this.ask("/api/v1/clients")) as ClientsAnswer;
    return clients.flatMap(({ hostname, appliedSequence }) =>
      appliedSequence !== null && appliedSequence >= sequence ? [hostname] : [],
    );
  }

  /** What the admin API answers. */
  async ask(path: string): Promise<unknown> {
    const { status, text } = await getInside(this.#pod.node.network, ADMIN_PORT, path);
    if (status !== 200) throw new Error(`${this.#pod.name}: ${path}: ${status} ${text}`);
    return JSON.parse(text) as unknown;
  }

  /** What `kubectl port-forward` gives for its admin API. */
  forward(): Promise<PortForward> {
    return PortForward.open(this.#pod.node.network, ADMIN_PORT);
  }

  /** For one more client. */
  tls(): Promise<TLSMaterial> {
    const { ca: caFile, cert: certFile, key: keyFile } = this.#tls;
    const source = tlsFromParameters({ caFile, certFile, keyFile, serverCN: this.#serverCN });
    return must(source, "TLS")();
  }

  close(): Promise<void> {
    return this.#follower.stop();
  }
}
