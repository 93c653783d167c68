import { type CtlResult, runCtl } from "../ctl-store/run-ctl.ts";
import type { TlsFiles } from "../lab/certificates.ts";
import type { ClusterWorld } from "./cluster-world.ts";
import type { PortForward } from "./port-forward.ts";

interface Clients {
  readonly clients: readonly { readonly hostname: string; readonly connectionId: string }[];
}

/** What the operator's checks need of GET /api/v1/status. */
export interface TyphaStatus {
  readonly connections: { readonly streaming: number };
  readonly balance: { readonly limit: number; readonly reason: string } | null;
}

/** What an operator sees of a cluster: `bulrushctl` through port forwards, and the pages of the admin API. */
export class OperatorView {
  readonly #world: ClusterWorld;

  constructor(world: ClusterWorld) {
    this.#world = world;
  }

  /** `bulrushctl` with a port forward to every Typha. */
  async ctl(args: readonly string[]): Promise<CtlResult> {
    const forwards: PortForward[] = [];
    try {
      for (const pod of this.#world.typhas) forwards.push(await this.#world.forward(pod));
      return await runCtl([...args, ...forwards.flatMap(({ url }) => ["--admin", url])], {});
    } finally {
      for (const forward of forwards) forward.close();
    }
  }

  statuses(): Promise<readonly TyphaStatus[]> {
    return this.#askAll<TyphaStatus>("/api/v1/status");
  }

  /** Hosts by their connections, of all Typhas. */
  async connections(): Promise<ReadonlyMap<string, string>> {
    const pages = await this.#askAll<Clients>("/api/v1/clients");
    return new Map(pages.flatMap(({ clients }) => clients.map((one) => [one.connectionId, one.hostname] as const)));
  }

  /** What `bulrushctl tls-check` finds wrong at some Typha, for a client with these files. */
  async tlsProblem(files: TlsFiles): Promise<string | undefined> {
    for (const { host, port } of this.#world.servers()) {
      const { code, out, err } = await tlsCheck(host, port, files);
      if (code !== 0) return `${host}: ${out}${err}`;
    }
    return undefined;
  }

  /** A Typha that takes a client with these files. */
  async whoTakes(files: TlsFiles): Promise<string | undefined> {
    for (const { host, port } of this.#world.servers()) if ((await tlsCheck(host, port, files)).code === 0) return host;
    return undefined;
  }

  #askAll<T>(path: string): Promise<T[]> {
    return Promise.all(this.#world.typhas.map((pod) => this.#world.askTypha(pod, path) as Promise<T>));
  }
}

function tlsCheck(host: string, port: number, { ca, cert, key }: TlsFiles): Promise<CtlResult> {
  const files = ["--ca-file", ca, "--cert-file", cert, "--key-file", key, "--cn", "typha-server"];
  return runCtl(["tls-check", "--addr", `${host}:${port}`, ...files], {});
}
