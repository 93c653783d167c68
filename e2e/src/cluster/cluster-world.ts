import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { must } from "@bulrush/base";
import { convertResources } from "@bulrush/datastore";
import { formatAddress, parseAddress } from "@bulrush/ip";
import type { Resource, Update } from "@bulrush/model";
import { openRouteConnection } from "@bulrush/netlink";
import type { ServerAddress, TLSMaterial } from "@bulrush/sync-client";
import { buildKustomization } from "../deploy/kustomize.ts";
import { asObject, DEPLOY, parseYaml } from "../deploy/manifest.ts";
import { KUSTOMIZE } from "../deploy/variants.ts";
import { find, onlyContainer, type PodTemplate, templateOf } from "../deploy/workload.ts";
import type { KubeAdmin, KubeObject } from "../kube/kube-admin.ts";
import { KubernetesStore, putObject } from "../lab/kubernetes-store.ts";
import { LabNetwork } from "../lab/network.ts";
import { type LabPlan, planLab } from "../lab/plan.ts";
import { Prober } from "../lab/prober.ts";
import { Program } from "../lab/program.ts";
import { Kubelet, type KubeNode, type RunningPod } from "./kubelet.ts";
import type { PortForward } from "./port-forward.ts";
import { SYNC_PORT, TyphaView, writeAgentTls } from "./typha-view.ts";

/** The address of the Service `kubernetes`: that of the fabric's loopback device here. */
const SERVICE_ADDRESS = "10.96.0.1";
const WAIT_MS = 300_000;
const LOOK_AGAIN_MS = 10_000;
const DIRECTORY = "/run/bulrush-cluster";

export interface ClusterOptions {
  readonly nodes: readonly string[];
  readonly typhas: number;
  /** More for Node's command line, by what runs. */
  readonly nodeArgs?: readonly string[];
}

/**
 * A cluster on a real API server, run from the shipped manifests. The lab is what else a cluster has: the controllers of
 * Deployments, DaemonSets and EndpointSlices, a kubelet, a CNI plugin.
 *
 * ```
 *   kube-apiserver + etcd (fabric, 10.96.0.1) <── applied: deploy/kustomize/base, Secrets of make-secrets.sh
 *      ^        ^         ^                   <── written: pods, policies (sync), EndpointSlices of ready Typhas
 *      │ watch  │ slices  │ admin
 *   Typha    agent        Follower + clients view: is it in every kernel?
 *   (pods on the network of host-a, host-b, host-c: read-only root, capabilities, probes as the manifests say)
 * ```
 */
export class ClusterWorld {
  readonly network: LabNetwork;
  readonly prober: Prober = new Prober();
  readonly store: KubernetesStore;
  readonly #options: ClusterOptions;
  #objects: readonly KubeObject[];
  readonly #kubelet: Kubelet;
  readonly #nodes: readonly KubeNode[];
  /** By the pod's name. */
  readonly #typhas = new Map<string, { readonly pod: RunningPod; readonly view: TyphaView }>();
  /** By the node's name. */
  readonly #agents = new Map<string, RunningPod>();
  #plan: LabPlan = { hosts: [], pods: [], aside: [] };
  #serial = 0;
  #slices: Promise<void> = Promise.resolve();
  #isStopping = false;

  private constructor(parts: {
    readonly options: ClusterOptions;
    readonly network: LabNetwork;
    readonly store: KubernetesStore;
    readonly objects: readonly KubeObject[];
    readonly kubelet: Kubelet;
    readonly nodes: readonly KubeNode[];
  }) {
    this.#options = parts.options;
    this.network = parts.network;
    this.store = parts.store;
    this.#objects = parts.objects;
    this.#kubelet = parts.kubelet;
    this.#nodes = parts.nodes;
  }

  /** The API server with everything applied; no pod runs yet. Inside a lab only. */
  static async create(options: ClusterOptions): Promise<ClusterWorld> {
    const network = new LabNetwork();
    const routes = openRouteConnection();
    const device = must(routes.link("lo"), "a loopback device").index;
    routes.write({ kind: "replace-address", address: { device, address: `${SERVICE_ADDRESS}/32` } });
    routes.close();
    const store = await KubernetesStore.start({ extraArgs: ["--bind-address=0.0.0.0"] });
    const { admin, files, port, kubeconfig } = store.server;
    const objects = buildKustomization(join(KUSTOMIZE, "base"));
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system" } });
    for (const object of [...objects, ...makeSecrets()]) await admin.apply(object);
    await initialise(kubeconfig);
    const nodes = options.nodes.map((name, i): KubeNode => {
      const address = must(parseAddress(`192.0.2.${i + 1}`), "an address");
      const { namespace } = network.addHost({ name, addresses: [address] });
      const directory = join(DIRECTORY, name);
      mkdirSync(directory, { recursive: true });
      return { name, address: formatAddress(address), network: namespace, directory };
    });
    const kubelet = new Kubelet({ admin, service: { host: SERVICE_ADDRESS, port, caPem: files.caPem } });
    const world = new ClusterWorld({ options, network, store, objects, kubelet, nodes });
    void world.#controlSlices();
    return world;
  }

  get admin(): KubeAdmin {
    return this.store.server.admin;
  }

  get plan(): LabPlan {
    return this.#plan;
  }

  get typhas(): readonly RunningPod[] {
    return [...this.#typhas.values()].map(({ pod }) => pod);
  }

  get agents(): readonly RunningPod[] {
    return [...this.#agents.values()];
  }

  /** The hosts as resources, for `sync`. */
  nodeResources(): Resource[] {
    return this.#nodes.map(({ name, address }) => ({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, labels: { "kubernetes.io/os": "linux", "kubernetes.io/hostname": name } },
      status: { addresses: [{ type: "InternalIP", address }] },
    }));
  }

  /** One more pod of the Deployment, on the node that has the fewest. Not waited for. */
  async startTypha(nodeArgs: readonly string[] = this.#options.nodeArgs ?? []): Promise<RunningPod> {
    const load = (node: KubeNode): number => this.typhas.filter((pod) => pod.node === node).length;
    const node = must(this.#nodes.toSorted((a, b) => load(a) - load(b))[0], "a node");
    const pod = await this.#run(find(this.#objects, "Deployment", "calico-typha"), node, nodeArgs);
    const client = this.#objects.find(({ kind }) => kind === "DaemonSet");
    const view = await TyphaView.open(this.admin, must(client, "the DaemonSet"), pod);
    this.#typhas.set(pod.name, { pod, view });
    return pod;
  }

  /** The pod of the DaemonSet on a node. Not waited for. */
  async startAgent(node: string, nodeArgs: readonly string[] = this.#options.nodeArgs ?? []): Promise<RunningPod> {
    const found = must(
      this.#nodes.find(({ name }) => name === node),
      `the node ${node}`,
    );
    const pod = await this.#run(find(this.#objects, "DaemonSet", "bulrush-agent"), found, nodeArgs);
    this.#agents.set(node, pod);
    return pod;
  }

  /** All pods that the manifests and the options ask for, and waits until they are ready. */
  async startAll(): Promise<void> {
    for (let i = this.#typhas.size; i < this.#options.typhas; i++) await this.startTypha();
    for (const { name } of this.#nodes) await this.startAgent(name);
    await this.ready();
  }

  /** As a deleted pod ends: its endpoint first, then the process. */
  async stopTypha(pod: RunningPod): Promise<void> {
    const { view } = must(this.#typhas.get(pod.name), "a Typha");
    this.#typhas.delete(pod.name);
    await this.#writeSlice();
    const code = await pod.stop();
    await view.close();
    if (code !== 0) throw new Error(`${pod.name} ended with ${code}\n${pod.process.logTail()}`);
  }

  /** Waits until every pod is ready. */
  async ready(): Promise<void> {
    await this.until("every pod is ready", () => {
      const late = [...this.typhas, ...this.agents].find((pod) => !pod.isReady);
      return late === undefined ? undefined : `${late.name}: ${late.readyText}\n${late.process.logTail(5)}`;
    });
  }

  /**
   * Writes these resources to the API server, as kubelets and users would, makes the pods' links, and waits until every
   * Typha has them and every agent has them in its kernel.
   */
  async sync(resources: readonly Resource[]): Promise<void> {
    await this.write(resources);
    await this.settle();
  }

  /** The same without waiting for anybody. */
  async write(resources: readonly Resource[]): Promise<void> {
    const { updates, problems } = await this.store.sync([...this.nodeResources(), ...resources]);
    if (problems.length > 0) throw new Error(problems.join("\n"));
    this.#reshape(resources, updates);
  }

  /** Where agents find the Typhas now. */
  servers(): readonly ServerAddress[] {
    return this.typhas.map(({ node }) => ({ host: node.address, port: SYNC_PORT }));
  }

  /** With the certificate of an agent. */
  async clientTls(): Promise<TLSMaterial> {
    const [typha] = this.#typhas.values();
    return must(typha, "a Typha").view.tls();
  }

  /** As `kubectl port-forward` for a Typha's admin API. The caller closes it. */
  forward(pod: RunningPod): Promise<PortForward> {
    return must(this.#typhas.get(pod.name), "a Typha").view.forward();
  }

  /** As `kubectl set env`: pods that are started from now on have it. */
  async setEnv(kind: "Deployment" | "DaemonSet", env: Readonly<Record<string, string>>): Promise<void> {
    this.#objects = this.#objects.map((object) => (object.kind === kind ? withEnv(object, env) : object));
    for (const object of this.#objects) if (object.kind === kind) await this.admin.apply(object);
  }

  /** Every pod's volumes, and what the lab's own clients show, follow their Secrets and ConfigMaps. */
  async refreshVolumes(): Promise<void> {
    for (const pod of [...this.typhas, ...this.agents]) await pod.refreshVolumes();
    for (const { namespace, node } of this.typhas)
      await writeAgentTls(this.admin, namespace, join(node.directory, "follower"));
  }

  /** What a Typha's admin API answers. */
  async askTypha(pod: RunningPod, path: string): Promise<unknown> {
    return must(this.#typhas.get(pod.name), "a Typha").view.ask(path);
  }

  /** The KVs that the API server's present contents stand for. */
  async #updates(): Promise<readonly Update[]> {
    return convertResources(await this.store.list()).updates;
  }

  /**
   * Waits until every Typha has what the API server has, and every agent has it in its kernel. What that is may change
   * meanwhile, as endpoints of Typhas come and go: it is looked at again.
   */
  async settle(): Promise<void> {
    let reached: readonly { readonly view: TyphaView; readonly sequence: number }[] = [];
    await this.until("every Typha has it", async () => {
      const updates = await this.#updates();
      const views = [...this.#typhas.values()].map(({ view }) => view);
      const looks = views.map(async (view) => ({ view, sequence: await view.reaches(updates, LOOK_AGAIN_MS) }));
      // All of them end before the next look begins.
      await Promise.allSettled(looks);
      reached = await Promise.all(looks);
      return undefined;
    });
    await this.until("every kernel has it", async () => {
      const applied = new Set<string>();
      for (const { view, sequence } of reached)
        for (const host of await view.hostsThatApplied(sequence)) applied.add(host);
      const late = [...this.#agents.keys()].filter((name) => !applied.has(name));
      return late.length === 0 ? undefined : late.join(", ");
    });
  }

  /** A pod's network, as a CNI plugin makes it. Its route is the agent's work. */
  addPod(plan: LabPlan["pods"][number]): void {
    const { namespace } = this.network.addPod(plan);
    for (const { protocol, port } of plan.ports) this.prober.serve(namespace, protocol, port);
  }

  removePod(name: string): void {
    const pod = this.network.pod(name);
    if (pod === undefined) return;
    this.prober.remove(pod.namespace);
    this.network.removePod(name);
  }

  /** Waits while `holds` gives a reason why not yet. */
  async until(what: string, holds: () => string | undefined | Promise<string | undefined>): Promise<void> {
    for (const endMs = performance.now() + WAIT_MS; ; ) {
      const why = await Promise.resolve()
        .then(holds)
        .catch((error: unknown) => (error as Error).message);
      if (why === undefined) return;
      if (performance.now() > endMs)
        throw new Error(`${this.logs()}\nNot so after ${WAIT_MS / 1000} s: ${what}: ${why}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  logs(): string {
    return [...this.typhas, ...this.agents].map((pod) => `--- ${pod.name}\n${pod.process.logTail(8)}`).join("\n");
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([...this.#typhas.values()].map(({ view }) => view.close()));
    for (const pod of [...this.agents, ...this.typhas]) pod.process.kill("SIGKILL");
    await Promise.all([...this.agents, ...this.typhas].map((pod) => pod.stop()));
    this.prober.close();
    this.network.close();
    await this.#slices.catch(() => undefined);
    await this.store.stop();
  }

  async #run(workload: KubeObject, node: KubeNode, nodeArgs: readonly string[]): Promise<RunningPod> {
    const template: PodTemplate = templateOf(workload);
    const { namespace = "", name: owner = "" } = workload.metadata;
    const name = `${owner}-${++this.#serial}`;
    return this.#kubelet.run(template, name, namespace, node, nodeArgs);
  }

  #reshape(resources: readonly Resource[], updates: readonly Update[]): void {
    const plan = planLab([...this.nodeResources(), ...resources], updates);
    const wanted = new Map(plan.pods.map((pod) => [pod.name, pod]));
    for (const { plan: old } of this.network.pods)
      if (JSON.stringify(wanted.get(old.name)) !== JSON.stringify(old)) this.removePod(old.name);
    for (const pod of plan.pods) if (this.network.pod(pod.name) === undefined) this.addPod(pod);
    this.#plan = plan;
  }

  /** The controller of EndpointSlices: readiness follows the pods'. An API server that is away is tried again. */
  async #controlSlices(): Promise<void> {
    while (!this.#isStopping) {
      await this.#writeSlice().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  #lastSlice = "";

  #writeSlice(): Promise<void> {
    const next = this.#slices
      .catch(() => undefined)
      .then(async () => {
        const endpoints = this.typhas.map(({ name, namespace, node, isReady }) => ({
          addresses: [node.address],
          conditions: { ready: isReady },
          nodeName: node.name,
          targetRef: { kind: "Pod", namespace, name },
        }));
        const text = JSON.stringify(endpoints);
        if (text === this.#lastSlice || this.#isStopping) return;
        await putObject(this.admin, {
          apiVersion: "discovery.k8s.io/v1",
          kind: "EndpointSlice",
          metadata: {
            name: "calico-typha-1",
            namespace: "kube-system",
            labels: { "kubernetes.io/service-name": "calico-typha" },
          },
          addressType: "IPv4",
          ports: [{ name: "calico-typha", port: 5473, protocol: "TCP" }],
          endpoints,
        });
        this.#lastSlice = text;
      });
    this.#slices = next;
    return next;
  }
}

function withEnv(object: KubeObject, env: Readonly<Record<string, string>>): KubeObject {
  const template = templateOf(object);
  const container = onlyContainer(template);
  const kept = (container.env ?? []).filter(({ name }) => !(name in env));
  const set = Object.entries(env).map(([name, value]) => ({ name, value }));
  const containers = [{ ...container, env: [...kept, ...set] }];
  const spec = { ...(object["spec"] as object), template: { ...template, spec: { ...template.spec, containers } } };
  return { ...object, spec };
}

/** What an operator makes with the shipped script: two Secrets and the ConfigMap of their new CA. */
export function makeSecrets(): KubeObject[] {
  const script = join(DEPLOY, "certificates", "make-secrets.sh");
  const text = execFileSync(script, ["kube-system", "2"], { encoding: "utf8" });
  return parseYaml(text, script).map((value) => asObject(value, script));
}

/** What an operator does once in a new cluster: Typha may not. */
async function initialise(kubeconfig: string): Promise<void> {
  const logFile = join("/run", "initialise.log");
  const env = { DATASTORE_TYPE: "kubernetes", KUBECONFIG: kubeconfig };
  const program = Program.start({ name: "bulrushctl", args: ["initialise"], env, logFile });
  const code = await program.exited;
  if (code !== 0) throw new Error(`bulrushctl initialise ended with ${code}\n${program.logTail()}`);
}
