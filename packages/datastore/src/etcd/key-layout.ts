import { type BlockAffinityKey, CALICO_V3, formatKey, kindFacts, parseKey } from "@bulrush/model";
import type { DatastoreKind } from "../driver/kind.ts";
import { cidrOfName } from "../process/raw-processor.ts";

/** Keys from `key` on and before `end`; without an end only `key`. */
export interface KeyRange {
  readonly key: string;
  readonly end: string | undefined;
}

/** What a key is the key of. `namespace` is "" for the kinds without one. */
export interface Place {
  readonly namespace: string;
  readonly name: string;
}

const RESOURCES = "/calico/resources/v3/projectcalico.org";
const BLOCKS = "/calico/ipam/v2/assignment/";
const HANDLES = "/calico/ipam/v2/handle/";
const IPAM_CONFIG = "/calico/ipam/v2/config";
/** "host" and "virtual" are the two kinds of owners, and nothing lies between. */
const AFFINITIES: KeyRange = { key: "/calico/ipam/v2/host/", end: "/calico/ipam/v2/virtual0" };

/** Where a Calico before version 3 says which one it is. */
export const LEGACY_VERSION_KEY = "/calico/v1/config/CalicoVersion";

/** All keys that begin with `prefix`, which ends with "/": "0" is the next character. */
function below(prefix: string): KeyRange {
  return { key: prefix, end: `${prefix.slice(0, -1)}0` };
}

/** Name of an IPAM block, and part of the name of an affinity: all of `.`, `:` and `/` are `-`. */
function nameOfCidr(cidr: string): string {
  return cidr.replaceAll(/[.:/]/g, "-");
}

function nameOfAffinity({ host, cidr }: Pick<BlockAffinityKey, "host" | "cidr">): string {
  return `${host}-${nameOfCidr(cidr)}`;
}

/** Plural and scope of a kind that lies among the resources; undefined for IPAM's kinds and those of Kubernetes. */
function resourceFacts(kind: DatastoreKind): { readonly prefix: string; readonly namespaced: boolean } | undefined {
  if (kind.startsWith("IPAM") || kind === "BlockAffinity") return undefined;
  const facts = kindFacts(CALICO_V3, kind);
  return facts && { prefix: `${RESOURCES}/${facts.plural}/`, namespaced: facts.namespaced };
}

/**
 * The keys of a kind, of one namespace of it, or of one name where that is one key. It may hold more than was asked for.
 * Undefined for a kind that etcd has not.
 */
export function rangeOf(kind: DatastoreKind, { namespace, name }: Partial<Place> = {}): KeyRange | undefined {
  switch (kind) {
    case "IPAMBlock":
      return below(BLOCKS);
    case "BlockAffinity":
      return AFFINITIES;
    case "IPAMHandle":
      return name === undefined ? below(HANDLES) : { key: HANDLES + name, end: undefined };
    case "IPAMConfig":
      return { key: IPAM_CONFIG, end: undefined };
    default: {
      const facts = resourceFacts(kind);
      if (facts === undefined) return undefined;
      const { prefix, namespaced } = facts;
      if (!namespaced) return name === undefined ? below(prefix) : { key: prefix + name, end: undefined };
      if (namespace === undefined) return below(prefix);
      return name === undefined
        ? below(`${prefix}${namespace}/`)
        : { key: `${prefix}${namespace}/${name}`, end: undefined };
    }
  }
}

/** What a key of this kind names; undefined for a key that is none of the kind. */
export function placeOf(kind: DatastoreKind, path: string): Place | undefined {
  const named = (name: string): Place | undefined =>
    name === "" || name.includes("/") ? undefined : { namespace: "", name };
  switch (kind) {
    case "IPAMBlock": {
      const key = parseKey(path);
      return key?.type === "Block" ? named(nameOfCidr(key.cidr)) : undefined;
    }
    case "BlockAffinity": {
      const key = parseKey(path);
      return key?.type === "BlockAffinity" ? named(nameOfAffinity(key)) : undefined;
    }
    case "IPAMHandle":
      return path.startsWith(HANDLES) ? named(path.slice(HANDLES.length)) : undefined;
    case "IPAMConfig":
      return path === IPAM_CONFIG ? named("default") : undefined;
    default: {
      const facts = resourceFacts(kind);
      if (facts === undefined || !path.startsWith(facts.prefix)) return undefined;
      const rest = path.slice(facts.prefix.length);
      if (!facts.namespaced) return named(rest);
      const slash = rest.indexOf("/");
      const place = named(rest.slice(slash + 1));
      return slash <= 0 || place === undefined ? undefined : { namespace: rest.slice(0, slash), name: place.name };
    }
  }
}

/**
 * The key of one thing. An affinity is named by its contents, of which `spec` has what its name has not. Undefined if
 * there is no such key.
 */
export function keyOf(kind: DatastoreKind, { namespace, name }: Place, spec: unknown): string | undefined {
  switch (kind) {
    case "IPAMBlock": {
      const cidr = cidrOfName(name);
      return cidr === undefined ? undefined : formatKey({ type: "Block", cidr });
    }
    case "BlockAffinity": {
      const { node = "", cidr = "", type } = spec as { node?: string; cidr?: string; type?: string };
      const affinityType = type === "virtual" ? "virtual" : "host";
      const path = formatKey({ type: "BlockAffinity", affinityType, host: node, cidr });
      return placeOf(kind, path) === undefined ? undefined : path;
    }
    default: {
      const path = rangeOf(kind, { namespace, name })?.key;
      const found = path === undefined ? undefined : placeOf(kind, path);
      return found?.name === name && found.namespace === namespace ? path : undefined;
    }
  }
}
