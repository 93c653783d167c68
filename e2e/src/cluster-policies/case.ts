import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "@bulrush/model";
import { parseAllDocuments } from "yaml";

const FILE = join(import.meta.dirname, "..", "..", "testdata", "cluster-network-policies.yaml");
const NAMESPACES = ["x", "y", "z"] as const;
const PODS = ["a", "b", "c"] as const;
const SERVICES = (["TCP", "UDP", "SCTP"] as const).flatMap((protocol) =>
  ([80, 81] as const).map((port) => ({ protocol, port })),
);
const PATTERN = /^(?<from>\S+) -> (?<to>\S+)(?: (?<ports>\S+))?$/;

/** A case of ClusterNetworkPolicy: what is there beside the oracle's world, and what of it all is denied. */
export interface ClusterPolicyCase {
  readonly name: string;
  readonly objects: readonly Resource[];
  /** `FROM -> TO [PORTS]`: pods as `namespace/pod`, ports as `TCP/80`; commas between alternatives, `*` for all. */
  readonly denied: readonly string[];
}

/** Does this flow connect? */
export interface ClusterPolicyCell {
  readonly from: string;
  readonly to: string;
  readonly protocol: "TCP" | "UDP" | "SCTP";
  readonly port: number;
  readonly connects: boolean;
}

export function loadClusterPolicyCases(): ClusterPolicyCase[] {
  const documents = parseAllDocuments(readFileSync(FILE, "utf8"));
  if (!Array.isArray(documents)) throw new Error(`${FILE} is empty`);
  return documents.map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS() as ClusterPolicyCase;
  });
}

/** Every pod to every other one's ports. @throws Error at a pattern that matches nothing. */
export function cellsOfCase({ name, denied }: ClusterPolicyCase): ClusterPolicyCell[] {
  const pods = NAMESPACES.flatMap((namespace) => PODS.map((pod) => `${namespace}/${pod}`));
  const patterns = denied.map((text) => ({ text, ...readPattern(text), isUsed: false }));
  const cells: ClusterPolicyCell[] = [];
  for (const from of pods) {
    for (const to of pods) {
      if (from === to) continue;
      for (const { protocol, port } of SERVICES) {
        const found = patterns.filter(
          (pattern) => pattern.from(from) && pattern.to(to) && pattern.service(`${protocol}/${port}`),
        );
        for (const pattern of found) pattern.isUsed = true;
        cells.push({ from, to, protocol, port, connects: found.length === 0 });
      }
    }
  }
  const unused = patterns.find(({ isUsed }) => !isUsed);
  if (unused !== undefined) throw new Error(`${name}: '${unused.text}' matches nothing`);
  return cells;
}

type Matcher = (text: string) => boolean;

function readPattern(text: string): { readonly from: Matcher; readonly to: Matcher; readonly service: Matcher } {
  const { from, to, ports } = PATTERN.exec(text)?.groups ?? {};
  if (from === undefined || to === undefined) throw new Error(`Not FROM -> TO [PORTS]: '${text}'`);
  return { from: anyOf(from), to: anyOf(to), service: ports === undefined ? () => true : anyOf(ports) };
}

function anyOf(list: string): Matcher {
  const wanted = list.split(",").map((one) => new RegExp(`^${one.replaceAll("*", "[^/]+")}$`));
  return (text) => wanted.some((pattern) => pattern.test(text));
}
