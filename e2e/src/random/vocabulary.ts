/**
 * The few words that random worlds are made of. Few, so that what is generated meets: most selectors pick something,
 * most networks hold a pod, and most ports are listened to.
 */
export const NAMESPACES = ["red", "blue", "green"] as const;
type NamespaceName = (typeof NAMESPACES)[number];

/** Labels and their values, by what bears them. */
export const POD_LABELS: Readonly<Record<string, readonly string[]>> = {
  app: ["web", "web-api", "api", "db"],
  role: ["front", "back", ""],
};
export const NAMESPACE_LABELS: Readonly<Record<string, readonly string[]>> = {
  team: ["a", "b"],
  env: ["prod", "test"],
};
export const ACCOUNT_LABELS: Readonly<Record<string, readonly string[]>> = { rank: ["high", "low"] };
export const SERVICE_ACCOUNTS = ["alpha", "beta"] as const;

export const PORT_NAMES = ["http", "admin", "dns"] as const;
/** A name that no pod has. */
export const UNUSED_PORT_NAME = "ghost";

/** Where every probe starts from, so that rules can ask for source ports; below the kernel's own (32768 on). */
export const FIRST_SOURCE_PORT = 10_000;
export const LAST_SOURCE_PORT = 29_999;

/** A pod of every random world. What changes is its labels, its account and the names of its ports. */
export interface RandomPodPlace {
  readonly namespace: NamespaceName;
  readonly name: string;
  readonly node: "host-a" | "host-b";
  readonly addresses: readonly string[];
}

function place(
  namespace: NamespaceName,
  name: string,
  node: RandomPodPlace["node"],
  number: number,
  ...families: readonly (4 | 6)[]
): RandomPodPlace {
  const block = NAMESPACES.indexOf(namespace) + 1;
  const addresses = families.map((family) => (family === 4 ? `10.65.${block}.${number}` : `fd65::${block}:${number}`));
  return { namespace, name, node, addresses };
}

export const POD_PLACES: readonly RandomPodPlace[] = [
  place("red", "a", "host-a", 10, 4, 6),
  place("red", "b", "host-b", 11, 4, 6),
  place("blue", "a", "host-b", 10, 4, 6),
  place("blue", "b", "host-a", 11, 4, 6),
  place("blue", "c", "host-a", 12, 4),
  place("green", "a", "host-a", 10, 6, 4),
  place("green", "b", "host-b", 11, 6),
  place("green", "c", "host-b", 12, 4, 6),
];

/** What every pod listens on. */
export const SERVED_PORTS = [
  { protocol: "TCP", port: 80 },
  { protocol: "TCP", port: 81 },
  { protocol: "TCP", port: 8080 },
  { protocol: "UDP", port: 80 },
  { protocol: "UDP", port: 81 },
  { protocol: "SCTP", port: 80 },
] as const;

/** Networks that hold one pod, some, all, and none. */
export const NETS: Readonly<Record<4 | 6, readonly string[]>> = {
  4: [
    ...POD_PLACES.flatMap(({ addresses }) =>
      addresses.filter((text) => !text.includes(":")).map((text) => `${text}/32`),
    ),
    "10.65.1.0/24",
    "10.65.2.0/24",
    "10.65.2.8/30",
    "10.65.3.8/29",
    "10.65.0.0/16",
    "192.0.2.0/24",
    "0.0.0.0/1",
  ],
  6: [
    ...POD_PLACES.flatMap(({ addresses }) =>
      addresses.filter((text) => text.includes(":")).map((text) => `${text}/128`),
    ),
    "fd65::1:0/112",
    "fd65::2:0/112",
    "fd65::3:10/127",
    "fd65::/64",
    "2001:db8::/32",
    "8000::/1",
  ],
};
/** The whole of a family: only where it is not negated. */
export const EVERYTHING: Readonly<Record<4 | 6, string>> = { 4: "0.0.0.0/0", 6: "::/0" };
