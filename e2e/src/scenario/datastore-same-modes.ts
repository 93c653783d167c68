import { BY_HAND, ORCHESTRATOR } from "./datastore-same-kinds.ts";

/** What kind of datastore it is: the two groups of Kubernetes are one. */
export type Mode = "kubernetes" | "etcdv3" | "file";

/** The state of a syncer: v1 values by path. */
export type State = ReadonlyMap<string, unknown>;

interface Difference {
  /** Which mode differs from the others. */
  readonly mode: Mode;
  readonly paths: RegExp;
  /** What stands there instead; undefined: nothing does. */
  readonly instead?: (path: string, value: unknown) => readonly [path: string, value: unknown];
  readonly reason: string;
}

const V3 = "/calico/resources/v3/projectcalico\\.org";

/** What must not be the same in every mode, and why. Everything else must. */
export const DIFFERENCES: readonly Difference[] = [
  {
    mode: "etcdv3",
    paths: /^\/calico\/v1\/policy\/KubernetesNetworkPolicy\//,
    instead: (path, value) => [
      path.replace(/KubernetesNetworkPolicy\/(.*)\/(.*)$/, "NetworkPolicy/$1/knp.default.$2"),
      value,
    ],
    reason: "a controller copies the network policies of Kubernetes under names of its own",
  },
  {
    mode: "etcdv3",
    paths: /^\/calico\/v1\/policy\/KubernetesClusterNetworkPolicy\//,
    reason: "cluster network policies live in Kubernetes only; nobody copies them",
  },
  {
    mode: "etcdv3",
    paths: new RegExp(`^${V3}/kubernetes(?:services|endpointslices)/`),
    reason: "services and their slices live in Kubernetes only; nobody copies them",
  },
  {
    mode: "kubernetes",
    paths: new RegExp(`^(?:/calico/v1/policy/profile|${V3}/profiles)/${BY_HAND}`),
    reason: "a profile is a namespace or a service account there; others have no place",
  },
  {
    mode: "kubernetes",
    paths: new RegExp(`^/calico/v1/host/[^/]*/workload/${ORCHESTRATOR}/`),
    reason: "a workload endpoint is a pod there; others have no place",
  },
  {
    mode: "kubernetes",
    paths: /^\/calico\/v1\/config\/ClusterType$/,
    instead: (path, value) => [path, `${String(value)},kdd`],
    reason: "who initialises a Kubernetes datastore adds the token kdd",
  },
];

/** What only one mode has beside the rest, before anybody writes to it. */
const ALWAYS_THERE: readonly Pick<Difference, "mode" | "paths" | "reason">[] = [
  {
    mode: "kubernetes",
    paths: new RegExp(
      `^(?:/calico/v1/policy/profile|${V3}/profiles)/kns\\.(?:default|kube-system|kube-public|kube-node-lease)(?:/|$)`,
    ),
    reason: "an API server makes these namespaces itself",
  },
  {
    mode: "kubernetes",
    paths: new RegExp(`^${V3}/kubernetes(?:services|endpointslices)/default/kubernetes$`),
    reason: "an API server makes the service of itself",
  },
];

/** What a mode must hold where a directory of manifests holds `file`. Adds to `used` the differences that it took. */
export function expectedIn(mode: Mode, file: State, used: Set<Difference>): Map<string, unknown> {
  const expected = new Map<string, unknown>();
  for (const [path, value] of file) {
    const difference = DIFFERENCES.find((one) => one.mode === mode && one.paths.test(path));
    if (difference === undefined) {
      expected.set(path, value);
      continue;
    }
    used.add(difference);
    const instead = difference.instead?.(path, value);
    if (instead !== undefined) expected.set(...instead);
  }
  return expected;
}

/** What a mode holds without what it always has. */
export function withoutOwn(mode: Mode, state: State): Map<string, unknown> {
  const own = ALWAYS_THERE.filter((one) => one.mode === mode);
  return new Map([...state].filter(([path]) => !own.some(({ paths }) => paths.test(path))));
}
