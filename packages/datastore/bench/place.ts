/** Where the `n`th object of a cluster is. */
export interface Place {
  readonly namespace: string;
  readonly app: string;
  readonly appNumber: number;
  readonly node: string;
  readonly nodeNumber: number;
  readonly revision: number;
}

export const NAMESPACES = 200;
const APPS_A_NAMESPACE = 20;
const NODES = 1000;
const FIRST_REVISION = 1_000_000;

const APPS: readonly string[] = [
  "checkout",
  "catalogue",
  "payments",
  "search",
  "gateway",
  "orders",
  "profile",
  "mailer",
];

export function namespaceName(n: number): string {
  return `team-${n % NAMESPACES}`;
}

/** Neighbours in a list are of one app, those beside them of the same namespace: an API server sorts them by name. */
export function placeOf(n: number, total: number): Place {
  const perNamespace = Math.max(1, Math.ceil(total / NAMESPACES));
  const [team, member] = [Math.floor(n / perNamespace), n % perNamespace];
  const number = Math.floor((member * APPS_A_NAMESPACE) / perNamespace);
  const nodeNumber = (n * 7919) % NODES;
  return {
    namespace: namespaceName(team),
    app: `${APPS[number % APPS.length]}-${number}`,
    appNumber: number + APPS_A_NAMESPACE * team,
    node: `ip-10-0-${nodeNumber >> 8}-${nodeNumber & 255}.eu-central-1.compute.internal`,
    nodeNumber,
    revision: FIRST_REVISION + n,
  };
}

/** A UID of version 4 for the `n`th object. */
export function uid(n: number): string {
  const part = ((n * 2654435761) >>> 0).toString(16).padStart(8, "0");
  return `${part}-${part.slice(0, 4)}-4${part.slice(1, 4)}-a${part.slice(5, 8)}-${part}${part.slice(2, 6)}`;
}

export function stamp(n: number): string {
  const two = (x: number): string => String(x).padStart(2, "0");
  return `2026-10-${two(1 + (n % 28))}T${two(n % 24)}:${two(n % 60)}:${two((n * 7) % 60)}Z`;
}

/** The `n`th namespace, as an API server lists it. */
export function namespace(n: number): object {
  const name = namespaceName(n);
  return {
    metadata: {
      name,
      uid: uid(n + 3e6),
      resourceVersion: String(FIRST_REVISION + n),
      creationTimestamp: stamp(n),
      labels: { "kubernetes.io/metadata.name": name, stage: n % 4 === 0 ? "test" : "production" },
    },
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  };
}
