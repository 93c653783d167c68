import { hash } from "node:crypto";
import { DatastoreError } from "../errors.ts";

/** The four parts of the name of a workload endpoint. */
export interface WorkloadName {
  readonly node: string;
  readonly orchestrator: string;
  /** The pod, for Kubernetes. */
  readonly workload: string;
  readonly endpoint: string;
}

function escaped(part: string, what: string): string {
  if (part === "" || part.startsWith("-") || part.endsWith("-")) {
    throw new DatastoreError(`The ${what} of a workload endpoint must not be empty or begin or end with "-"`, {
      code: "DATASTORE_MALFORMED",
      data: { [what]: part },
    });
  }
  return part.replaceAll("-", "--");
}

/**
 * `node--1-k8s-pod--name-eth0`: each part with its dashes doubled.
 *
 * @throws DatastoreError DATASTORE_MALFORMED, naming the part.
 */
export function formatWorkloadName({ node, orchestrator, workload, endpoint }: WorkloadName): string {
  const what = orchestrator === "k8s" ? "pod" : "workload";
  return `${escaped(node, "node")}-${escaped(orchestrator, "orchestrator")}-${escaped(workload, what)}-${escaped(endpoint, "endpoint")}`;
}

/** How the names of all endpoints begin that have these first parts: each part, and a dash after it. */
export function formatWorkloadPrefix({ node, orchestrator, workload }: Partial<WorkloadName>): string {
  let prefix = "";
  for (const [what, part] of Object.entries({ node, orchestrator, workload })) {
    if (part === undefined || part === "") break;
    prefix += `${escaped(part, what)}-`;
  }
  return prefix;
}

/**
 * The parts of a name, or undefined if it has not exactly four. The endpoint may be empty: that is how the names of all
 * endpoints of one pod begin.
 */
export function parseWorkloadName(name: string): WorkloadName | undefined {
  // A lone dash separates, "--" stands for "-"; no part begins or ends with a dash, so this reads from the left.
  const parts: string[] = [];
  let start = 0;
  let hasDash = false;
  for (let at = name.indexOf("-"); ; at = name.indexOf("-", at)) {
    if (at >= 0 && name.charCodeAt(at + 1) === DASH) {
      hasDash = true;
      at += 2;
      continue;
    }
    const part = name.slice(start, at < 0 ? undefined : at);
    // Joined, the part is a text of its own: what `replaceAll` gives holds on to the whole name.
    parts.push(hasDash ? part.split("--").join("-") : part);
    if (at < 0) break;
    start = ++at;
    hasDash = false;
  }
  const [node = "", orchestrator = "", workload = "", endpoint = ""] = parts;
  if (parts.length !== 4 || node === "" || orchestrator === "" || workload === "") return undefined;
  return { node, orchestrator, workload, endpoint };
}

const DASH = 45;

/**
 * The host side interface of a pod: `cali` and 11 hex digits of the SHA-1 of `namespace.pod`.
 *
 * @param prefixes Comma-separated, the first counts (FELIX_INTERFACEPREFIX). Default "cali".
 */
export function workloadInterfaceName(namespace: string, pod: string, prefixes = "cali"): string {
  const prefix = prefixes.split(",")[0]?.trim() || "cali";
  return [prefix, hash("sha1", `${namespace}.${pod}`, "hex").slice(0, 11)].join("");
}
