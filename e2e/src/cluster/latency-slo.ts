import { must } from "@bulrush/base";
import { convertResources } from "@bulrush/datastore";
import type { Resource } from "@bulrush/model";
import { asWritten, putObject } from "../lab/kubernetes-store.ts";
import { planLab } from "../lab/plan.ts";
import type { ClusterWorld } from "./cluster-world.ts";
import { FirstArrival } from "./first-arrival.ts";

const NAMESPACE = "slo";
const PORT = 9000;
/** What must not get through before a policy is there: so many datagrams are tried. */
const CLOSED_TRIES = 20;

/** Milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

function percentiles(samples: readonly number[]): Percentiles {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number): number => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN);
  return { p50: at(0.5), p99: at(0.99) };
}

function pod(name: string, node: string, ip: string): Resource {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: NAMESPACE, labels: { app: name } },
    spec: { nodeName: node, containers: [{ name: "main", ports: [{ containerPort: PORT, protocol: "UDP" }] }] },
    status: { phase: "Running", podIPs: [{ ip }] },
  };
}

function policy(name: string, podSelector: object, ingress: readonly object[]): Resource {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name, namespace: NAMESPACE },
    spec: { podSelector, policyTypes: ["Ingress"], ingress },
  };
}

/** A client on one host, as many pods on another, all of them closed. */
export function sloWorld(samples: number): Resource[] {
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE, labels: { ns: NAMESPACE } } },
    pod("client", "host-a", "10.66.0.1"),
    ...Array.from({ length: samples }, (_, i) => pod(`target-${i}`, "host-b", `10.66.1.${i + 1}`)),
    policy("closed", {}, []),
  ];
}

/**
 * The two figures that everybody measures, from the request to the API server on: until a policy that allows lets the
 * first packet through, and until a new pod is reached. Takes a world that is in force.
 */
export async function measureSlo(
  world: ClusterWorld,
  samples: number,
): Promise<{ readonly policyMs: Percentiles; readonly podMs: Percentiles }> {
  const client = must(world.network.pod(`${NAMESPACE}/client`), "the client").namespace;
  const allow = (name: string): Resource =>
    policy(`to-${name}`, { matchLabels: { app: name } }, [
      { from: [{ podSelector: { matchLabels: { app: "client" } } }] },
    ]);
  const policyMs: number[] = [];
  for (let i = 0; i < samples; i++) {
    const name = `target-${i}`;
    const { namespace, plan } = must(world.network.pod(`${NAMESPACE}/${name}`), name);
    const arrival = new FirstArrival(client, namespace, must(plan.addresses[0], "an address"), PORT + 1);
    if (await arrival.isOpen(CLOSED_TRIES)) throw new Error(`${name} is open before its policy is there`);
    const startMs = performance.now();
    const written = putObject(world.admin, asWritten(allow(name)));
    policyMs.push((await arrival.came()) - startMs);
    await written;
    arrival.close();
  }
  const podMs: number[] = [];
  for (let i = 0; i < samples; i++) {
    const name = `new-${i}`;
    await putObject(world.admin, asWritten(allow(name)));
    const resource = pod(name, "host-c", `10.66.2.${i + 1}`);
    const plan = must(planLab([resource], convertResources([resource]).updates).pods[0], "a plan");
    const startMs = performance.now();
    // The link comes while the API server is told, as with a CNI plugin; then the address is reported.
    const written = putObject(world.admin, asWritten(resource));
    world.addPod(plan);
    const { namespace } = must(world.network.pod(plan.name), name);
    const arrival = new FirstArrival(client, namespace, must(plan.addresses[0], "an address"), PORT + 1);
    podMs.push((await arrival.came()) - startMs);
    await written;
    arrival.close();
  }
  return { policyMs: percentiles(policyMs), podMs: percentiles(podMs) };
}
