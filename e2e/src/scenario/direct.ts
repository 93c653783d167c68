import { join } from "node:path";
import { must } from "@bulrush/base";
import { openRouteConnection } from "@bulrush/netlink";
import { ADMIN_TOKEN, writeKubeconfig } from "../kube/kube-files.ts";
import { LabCluster } from "../lab/cluster.ts";
import { KubernetesStore } from "../lab/kubernetes-store.ts";
import { cellsOf, loadOracleCases, type OracleCase, type OracleStep } from "../oracle/case.ts";
import { OracleWorld } from "../oracle/world.ts";
import { WORK_DIR } from "./guarded-world.ts";
import { someCases } from "./oracle-kernel.ts";
import { required } from "./required.ts";
import type { Scenario } from "./scenario.ts";

/** The address of the Service `kubernetes`: that of the fabric's loopback device here. */
const SERVICE_ADDRESS = "10.96.0.1";
const HOSTS = ["host-a", "host-b"] as const;
const WAIT_MS = 240_000;
const QUICK_CASES = 5;

/** A cluster without Typha: agents that are started in it read the API server themselves. No agent runs yet. */
export async function openDirectCluster(
  workDir: string,
): Promise<{ readonly cluster: LabCluster; readonly store: KubernetesStore }> {
  const kubeconfig = join(workDir, "agent.kubeconfig");
  let opened: KubernetesStore | undefined;
  const cluster = await LabCluster.create({
    workDir,
    manifestDir: join(workDir, "manifests"),
    // The lab's wires are there when the store is opened.
    openStore: async () => {
      const routes = openRouteConnection();
      const device = must(routes.link("lo"), "a loopback device").index;
      routes.write({ kind: "replace-address", address: { device, address: `${SERVICE_ADDRESS}/32` } });
      routes.close();
      opened = await KubernetesStore.start({ extraArgs: ["--bind-address=0.0.0.0"] });
      const { files, port } = opened.server;
      writeKubeconfig(kubeconfig, `https://${SERVICE_ADDRESS}:${port}`, files.caPem, ADMIN_TOKEN);
      return opened;
    },
    agentEnv: {
      FELIX_TYPHAADDR: "",
      DATASTORE_TYPE: "kubernetes",
      KUBECONFIG: kubeconfig,
      CALICO_API_GROUP: "projectcalico.org/v3",
    },
  });
  return { cluster, store: required(opened, "a store") };
}

/**
 * ```
 *  kube-apiserver + etcd (fabric, 10.96.0.1) <─list, watch─ agent (host-a), agent (host-b) ─netlink─> kernels
 * ```
 * Nobody acknowledges anything: packets are tried until the verdicts are the oracle's.
 */
class DirectCluster {
  readonly #cluster: LabCluster;
  readonly #store: KubernetesStore;

  private constructor(cluster: LabCluster, store: KubernetesStore) {
    this.#cluster = cluster;
    this.#store = store;
  }

  static async start(): Promise<DirectCluster> {
    const { cluster, store } = await openDirectCluster(WORK_DIR);
    return new DirectCluster(cluster, store);
  }

  /** Makes the store and the wires as this world is; agents run from the first time on. */
  async sync(world: OracleWorld): Promise<void> {
    const resources = world.resources();
    const { problems, updates } = await this.#store.sync(resources);
    if (problems.length > 0) throw new Error(`The store refuses: ${problems.join("; ")}`);
    this.#cluster.reshape(resources, updates);
    for (const host of HOSTS) if (!this.#cluster.hasAgent(host)) this.#cluster.startAgent(host);
  }

  /** Waits until all cells are as they should be, twice in a row. The number of cells. */
  async reaches(step: OracleStep, what: string): Promise<number> {
    const { network, prober } = this.#cluster;
    const cells = cellsOf(step).map((cell) => {
      const [from, to] = [required(network.pod(cell.from), cell.from), required(network.pod(cell.to), cell.to)];
      const address = required(to.plan.addresses[0], `an address of ${cell.to}`);
      return { ...cell, probe: { ...cell, from: from.namespace, to: address, expect: cell.connects } };
    });
    const deadlineMs = performance.now() + WAIT_MS;
    for (let inRow = 0; inRow < 2; ) {
      const answers = await prober.run(cells.map(({ probe }) => probe));
      const wrong = cells.filter(({ connects }, i) => answers[i] !== connects);
      inRow = wrong.length === 0 ? inRow + 1 : 0;
      if (performance.now() < deadlineMs || wrong.length === 0) continue;
      const list = wrong.slice(0, 20).map(({ from, to, protocol, port }) => `${from} -> ${to} ${protocol}/${port}`);
      throw new Error(`${what}: not as the oracle says: ${list.join(", ")}`);
    }
    return cells.length;
  }

  logs(): string {
    return this.#cluster.logs();
  }

  async stop(): Promise<void> {
    await this.#cluster.stop();
  }
}

function chosenCases(quick: boolean): readonly OracleCase[] {
  const cases = someCases(loadOracleCases());
  if (!quick) return cases;
  return cases.filter((_, i) => i % Math.ceil(cases.length / QUICK_CASES) === 0);
}

export const direct: Scenario = {
  name: "direct",
  summary: "agents on a real kube-apiserver without Typha: the oracle's verdicts through real packets",
  needsKube: true,
  async run({ quick, progress }) {
    const cluster = await DirectCluster.start();
    const totals = { cases: 0, steps: 0, cells: 0 };
    try {
      for (const one of chosenCases(quick)) {
        const world = new OracleWorld();
        for (const [i, step] of one.steps.entries()) {
          for (const action of step.actions) world.apply(action);
          await cluster.sync(world);
          totals.cells += await cluster.reaches(step, `${one.description}, step ${i}`);
          totals.steps++;
        }
        totals.cases++;
        progress(`${totals.cases} cases, ${totals.cells} cells as the oracle says`);
      }
    } catch (error) {
      throw new Error(`${cluster.logs()}\n${(error as Error).message}`);
    } finally {
      await cluster.stop();
    }
    return { ...totals, wrong: 0 };
  },
};
