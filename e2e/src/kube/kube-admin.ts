import { readdirSync, readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const TIMEOUT_MS = 30_000;
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** A Kubernetes object as it travels. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name?: string;
    readonly namespace?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

export interface KubeAnswer {
  readonly status: number;
  /** Parsed where it is JSON, else the text: the events of a watch are. */
  readonly body: unknown;
}

export interface KubeAdminOptions {
  readonly url: string;
  readonly caPem: string;
  readonly token: string;
}

/** The server said no. `status` is HTTP's. */
export class KubeRefusal extends Error {
  override readonly name = "KubeRefusal";
  readonly status: number;

  constructor(op: string, answer: KubeAnswer) {
    const { message } = answer.body as { readonly message?: string };
    super(`${op}: ${answer.status} ${message ?? JSON.stringify(answer.body)}`);
    this.status = answer.status;
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** True for a 404 that names the object: without that it is the kind which is not there. */
function namesMissing({ status, body }: KubeAnswer): boolean {
  const { details } = (typeof body === "object" && body !== null ? body : {}) as {
    readonly details?: { readonly name?: string };
  };
  return status === 404 && (details?.name ?? "") !== "";
}

interface ApiResource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** The tests' own hands on a cluster: small, and nothing of what is under test. */
export class KubeAdmin {
  readonly #options: KubeAdminOptions;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32 });
  readonly #resources = new Map<string, ApiResource>();

  constructor(options: KubeAdminOptions) {
    this.#options = options;
  }

  /** Any request. Rejects only when there is no answer at all. */
  request(method: string, path: string, body?: unknown, contentType = "application/json"): Promise<KubeAnswer> {
    const { url, caPem, token } = this.#options;
    const payload = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        accept: "application/json",
        ...(payload !== undefined && { "content-type": contentType, "content-length": Buffer.byteLength(payload) }),
      };
      const options = { method, headers, ca: caPem, agent: this.#agent, timeout: TIMEOUT_MS };
      const sent = request(new URL(path, url), options, (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk: string) => {
          text += chunk;
        });
        answer.on("error", reject);
        answer.on("end", () => {
          const isJson = (answer.headers["content-type"] ?? "").startsWith("application/json");
          resolve({ status: answer.statusCode ?? 0, body: isJson ? jsonOf(text) : text });
        });
      });
      sent.on("error", reject);
      sent.on("timeout", () => sent.destroy(new Error(`${method} ${path}: no answer in ${TIMEOUT_MS / 1000} s`)));
      sent.end(payload);
    });
  }

  /** @throws KubeRefusal with its status (409 when it is there). */
  async create(object: KubeObject): Promise<KubeObject> {
    return this.#mustDo("POST", await this.#collection(object), object);
  }

  async get(object: KubeObject): Promise<KubeObject> {
    return this.#mustDo("GET", await this.#path(object));
  }

  /** Replaces it. With a `metadata.resourceVersion` only if that is still its own. */
  async replace(object: KubeObject): Promise<KubeObject> {
    return this.#mustDo("PUT", await this.#path(object), object);
  }

  /** A JSON merge patch (RFC 7396): of the object, or of a subresource such as "status". */
  async patch(object: KubeObject, patch: unknown, subresource = ""): Promise<KubeObject> {
    const path = `${await this.#path(object)}${subresource === "" ? "" : `/${subresource}`}`;
    return this.#mustDo("PATCH", path, patch, "application/merge-patch+json");
  }

  /** Creates it or sets the fields that it names (server-side apply). */
  async apply(object: KubeObject): Promise<KubeObject> {
    const path = `${await this.#path(object)}?fieldManager=lab&force=true`;
    return this.#mustDo("PATCH", path, object, "application/apply-patch+yaml");
  }

  /** The same without any effect: what the server would make of it. Fields that it does not know are refused. */
  async dryRun(object: KubeObject): Promise<KubeObject> {
    const path = `${await this.#path(object)}?fieldManager=lab&force=true&dryRun=All&fieldValidation=Strict`;
    return this.#mustDo("PATCH", path, object, "application/apply-patch+yaml");
  }

  /**
   * At once: there is no kubelet that would end a pod. Returns whether it was there.
   *
   * @throws KubeRefusal, also with 404 where the server does not serve the kind (yet).
   */
  async delete(object: KubeObject): Promise<boolean> {
    const path = `${await this.#path(object)}?gracePeriodSeconds=0`;
    const answer = await this.request("DELETE", path);
    if (namesMissing(answer)) return false;
    if (answer.status >= 300) throw new KubeRefusal(`DELETE ${path}`, answer);
    return true;
  }

  /** All objects of a kind, in all namespaces. */
  async list(apiVersion: string, kind: string): Promise<KubeObject[]> {
    const path = await this.#collection({ apiVersion, kind, metadata: {} });
    const list = (await this.#mustDo("GET", path)) as unknown as { readonly items: KubeObject[] };
    return list.items;
  }

  /** A namespace of a test's own. */
  createNamespace(name: string): Promise<KubeObject> {
    return this.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }

  /** A token of a service account, good for an hour. */
  async tokenOf(namespace: string, serviceAccount: string): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`;
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } };
    const answer = (await this.#mustDo("POST", path, request)) as unknown as { readonly status: { token: string } };
    return answer.status.token;
  }

  /**
   * Installs all CustomResourceDefinitions of the `.yaml`, `.yml` and `.json` files in a directory, and waits until
   * every one is served. Returns their names.
   */
  async installCrds(directory: string): Promise<string[]> {
    const files = readdirSync(directory).filter((file) => /\.(?:ya?ml|json)$/.test(file));
    const documents = files.sort().flatMap((file) => readFileSync(join(directory, file), "utf8").split(/^---.*$/m));
    const made: KubeObject[] = [];
    for (const document of documents) {
      if (document.split("\n").every((line) => /^\s*(?:#.*)?$/.test(line))) continue;
      made.push(await this.#mustDo("POST", CRDS, document, "application/yaml"));
    }
    for (const crd of made) await this.#untilServed(crd);
    return made.map((crd) => crd.metadata.name ?? "");
  }

  close(): void {
    this.#agent.destroy();
  }

  async #untilServed(crd: KubeObject): Promise<void> {
    const { group, names, versions } = crd["spec"] as {
      readonly group: string;
      readonly names: { readonly plural: string };
      readonly versions: readonly { readonly name: string; readonly served: boolean }[];
    };
    for (const { name } of versions.filter(({ served }) => served)) {
      const path = `/apis/${group}/${name}/${names.plural}?limit=1`;
      for (const startMs = performance.now(); (await this.request("GET", path)).status !== 200; ) {
        if (performance.now() - startMs > TIMEOUT_MS) throw new Error(`${path} is not served after 30 s`);
        await sleep(50);
      }
    }
  }

  async #mustDo(method: string, path: string, body?: unknown, contentType?: string): Promise<KubeObject> {
    const answer = await this.request(method, path, body, contentType);
    if (answer.status >= 300) throw new KubeRefusal(`${method} ${path}`, answer);
    return answer.body as KubeObject;
  }

  async #path(object: KubeObject): Promise<string> {
    return `${await this.#collection(object)}/${object.metadata.name ?? ""}`;
  }

  /** Where the objects of its kind and namespace are. */
  async #collection({ apiVersion, kind, metadata }: KubeObject): Promise<string> {
    const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const id = `${apiVersion} ${kind}`;
    let resource = this.#resources.get(id);
    if (resource === undefined) {
      const { resources } = (await this.#mustDo("GET", root)) as unknown as { readonly resources: ApiResource[] };
      resource = resources.find((one) => one.kind === kind && !one.name.includes("/"));
      if (resource === undefined) throw new Error(`The server has no kind ${id}`);
      this.#resources.set(id, resource);
    }
    const namespace = metadata.namespace;
    if (!resource.namespaced || namespace === undefined) return `${root}/${resource.name}`;
    return `${root}/namespaces/${namespace}/${resource.name}`;
  }
}
