import type { DatastoreDriver, Item, ListPage, WatchStream } from "@bulrush/datastore";
import type { Resource } from "@bulrush/model";

/** The host under measure, and the name of all others. */
export const LOCAL_HOST = "benchhost";
const REMOTE_HOST = "remotehost";
export const LOCAL_PODS = 200;

const PODS_EACH = 25;
const PAGE = 500;
const REVISION = "1";

/**
 * A cluster of customers that never changes: each has a namespace's profile, a policy that isolates it, and 25 pods. 200
 * pods, of as many customers as there are, run on the host under measure. Made as it is listed, so that the store takes no memory.
 */
export function customerStore(remotePods: number): DatastoreDriver {
  const pods = remotePods + LOCAL_PODS;
  const customers = Math.ceil(pods / PODS_EACH);
  return {
    type: "etcdv3",
    usePodCIDR: true,
    async *list({ kind }) {
      await Promise.resolve();
      yield* pages(itemsOf(kind, customers, pods));
    },
    watch: ({ signal }) => Promise.resolve(silentWatch(signal)),
    probe: () => Promise.resolve(),
    problems: () => [],
    close: () => Promise.resolve(),
  };
}

/** Name of the interface of a pod of the host under measure, from 0. */
export function interfaceOf(local: number): string {
  return `cali${local}`;
}

function* pages(items: Iterable<Item>): Generator<ListPage> {
  let page: Item[] = [];
  for (const item of items) {
    page.push(item);
    if (page.length < PAGE) continue;
    yield { items: page, revision: REVISION };
    page = [];
  }
  yield { items: page, revision: REVISION };
}

function* itemsOf(kind: string, customers: number, pods: number): Generator<Item> {
  if (kind === "ClusterInformation")
    yield item(kind, "", "default", { datastoreReady: true, clusterGUID: "00000000000000000000000000000001" });
  if (kind === "Tier") yield item(kind, "", "default", { order: 1_000_000, defaultAction: "Deny" });
  for (let c = 0; c < customers; c++) {
    if (kind === "Profile") yield profile(c);
    if (kind === "NetworkPolicy") yield policy(c);
  }
  if (kind === "WorkloadEndpoint") for (let i = 0; i < pods; i++) yield pod(i, customers, pods);
}

function item(
  kind: Item["kind"],
  namespace: string,
  name: string,
  spec: unknown,
  labels: Readonly<Record<string, string>> = {},
): Item {
  const metadata = { name, ...(namespace === "" ? {} : { namespace }), labels };
  const value = { apiVersion: "projectcalico.org/v3", kind, metadata, spec } as unknown as Resource;
  return { kind, namespace, name, revision: REVISION, value };
}

function profile(c: number): Item {
  const allow = [{ action: "Allow" }];
  const labelsToApply = { "pcns.projectcalico.org/name": `customer${c}` };
  return item("Profile", "", `kns.customer${c}`, { ingress: allow, egress: allow, labelsToApply });
}

function policy(c: number): Item {
  const own = `projectcalico.org/namespace == 'customer${c}'`;
  return item("NetworkPolicy", `customer${c}`, "isolate", {
    tier: "default",
    selector: "all()",
    types: ["Ingress", "Egress"],
    ingress: [
      { action: "Allow", protocol: "TCP", source: { selector: "enabled == '1'" }, destination: { ports: [8080] } },
    ],
    egress: [
      { action: "Allow", destination: { selector: own } },
      { action: "Allow", protocol: "UDP", destination: { nets: ["10.96.0.10/32"], ports: [53] } },
    ],
  });
}

function pod(i: number, customers: number, pods: number): Item {
  const localEvery = Math.floor(pods / LOCAL_PODS);
  const isLocal = i % localEvery === 0 && i / localEvery < LOCAL_PODS;
  const host = isLocal ? LOCAL_HOST : REMOTE_HOST;
  const c = Math.min(customers - 1, Math.floor(i / PODS_EACH));
  const spec = {
    orchestrator: "k8s",
    node: host,
    pod: `pod${i}`,
    endpoint: "eth0",
    interfaceName: isLocal ? interfaceOf(i / localEvery) : `calir${i}`,
    ipNetworks: [`10.${64 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}/32`],
    profiles: [`kns.customer${c}`],
  };
  const labels = {
    app: `app${i % 10}`,
    enabled: i % 2 === 0 ? "1" : "0",
    "projectcalico.org/namespace": `customer${c}`,
    "projectcalico.org/orchestrator": "k8s",
  };
  return item("WorkloadEndpoint", `customer${c}`, `${host}-k8s-pod${i}-eth0`, spec, labels);
}

/** Nothing ever happens. */
function silentWatch(signal: AbortSignal): WatchStream {
  const ended = new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
  return { next: () => ended, close: () => undefined };
}
