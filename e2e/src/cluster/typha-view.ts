import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Update } from "@bulrush/model";
import { envValue, onlyContainer, templateOf } from "../deploy/workload.ts";
import type { KubeAdmin, KubeObject } from "../kube/kube-admin.ts";
import { Follower } from "../lab/follower.ts";
import type { RunningPod } from "./kubelet.ts";
import { getInside } from "./namespace-http.ts";

const SYNC_PORT = 5473;
const ADMIN_PORT = 9097;

interface ClientsAnswer {
  readonly clients: readonly { readonly hostname: string; readonly appliedSequence: number | null }[];
}

/** What the lab knows of a Typha: its stream, as one more agent, and its admin API, as through a port forward. */
export class TyphaView {
  readonly #pod: RunningPod;
  readonly #follower: Follower;

  private constructor(pod: RunningPod, follower: Follower) {
    this.#pod = pod;
    this.#follower = follower;
  }

  /** With the certificate and the rule of the agents' manifest. */
  static async open(admin: KubeAdmin, agents: KubeObject, pod: RunningPod): Promise<TyphaView> {
    const directory = join(pod.node.directory, "follower");
    mkdirSync(directory, { recursive: true });
    const read = async (kind: string, name: string): Promise<Readonly<Record<string, string>>> => {
      const object = await admin.get({ apiVersion: "v1", kind, metadata: { name, namespace: pod.namespace } });
      return object["data"] as Readonly<Record<string, string>>;
    };
    const secret = await read("Secret", "node-certs");
    const { caBundle = "" } = await read("ConfigMap", "typha-ca");
    const file = (name: string, bytes: string | Buffer): string => {
      writeFileSync(join(directory, name), bytes);
      return join(directory, name);
    };
    const follower = new Follower({
      host: pod.node.address,
      port: SYNC_PORT,
      tls: {
        ca: file("ca.crt", caBundle),
        cert: file("tls.crt", Buffer.from(secret["tls.crt"] ?? "", "base64")),
        key: file("tls.key", Buffer.from(secret["tls.key"] ?? "", "base64")),
      },
      serverCN: envValue(onlyContainer(templateOf(agents)), "FELIX_TYPHACN") ?? "",
    });
    return new TyphaView(pod, follower);
  }

  /** Resolves once this Typha holds exactly these KVs, with its sequence. */
  reaches(updates: readonly Update[], timeoutMs: number): Promise<number> {
    return this.#follower.reaches(updates, timeoutMs);
  }

  /** Hosts whose agents told this Typha that they have this sequence in their kernels. */
  async hostsThatApplied(sequence: number): Promise<readonly string[]> {
    const { status, text } = await getInside(this.#pod.node.network, ADMIN_PORT, "/api/v1/clients");
    if (status !== 200) throw new Error(`${this.#pod.name}: ${status} ${text}`);
    const { clients } = JSON.parse(text) as ClientsAnswer;
    return clients.flatMap(({ hostname, appliedSequence }) =>
      appliedSequence !== null && appliedSequence >= sequence ? [hostname] : [],
    );
  }

  close(): Promise<void> {
    return this.#follower.stop();
  }
}
