import { isObject, type JsonObject, parseKey } from "@bulrush/model";
import type { DatastoreKind } from "../driver/kind.ts";

/** In etcd IPAM's kinds are bare values without metadata, and part of what their specs say is in the key. */
export type IpamKind = Extract<DatastoreKind, "IPAMBlock" | "BlockAffinity" | "IPAMHandle" | "IPAMConfig">;

const IPAM_KINDS: ReadonlySet<DatastoreKind> = new Set([
  "IPAMBlock",
  "BlockAffinity",
  "IPAMHandle",
  "IPAMConfig",
] satisfies IpamKind[]);

export function isIpamKind(kind: DatastoreKind): kind is IpamKind {
  return IPAM_KINDS.has(kind);
}

/** The spec that a value stands for. */
export function readIpamSpec(kind: IpamKind, path: string, name: string, value: JsonObject): JsonObject {
  switch (kind) {
    case "IPAMBlock":
      return withLists(value);
    case "BlockAffinity": {
      const key = parseKey(path);
      if (key?.type !== "BlockAffinity") return value;
      return { state: "", ...value, node: key.host, type: key.affinityType, cidr: key.cidr };
    }
    case "IPAMHandle":
      return { ...value, handleID: name };
    case "IPAMConfig": {
      const { strict_affinity = false, auto_allocate_blocks = false, ...rest } = value;
      return { ...rest, strictAffinity: strict_affinity, autoAllocateBlocks: auto_allocate_blocks };
    }
  }
}

const BLOCK_LISTS = ["allocations", "unallocated", "attributes"] as const;

/** An empty list may be written as null, which a Kubernetes API refuses. */
function withLists(block: JsonObject): JsonObject {
  const empty = BLOCK_LISTS.filter((name) => block[name] === null);
  return empty.length === 0 ? block : { ...block, ...Object.fromEntries(empty.map((name) => [name, []])) };
}

/** The value that a spec is stored as: what {@link readIpamSpec} reads. */
export function writeIpamValue(kind: IpamKind, spec: unknown): JsonObject {
  const fields = isObject(spec) ? spec : {};
  switch (kind) {
    case "IPAMBlock":
      return fields;
    case "BlockAffinity": {
      const { node: _, type: __, cidr: ___, deleted, ...value } = fields;
      return { ...value, ...((deleted === true || deleted === "true") && { deleted: true }) };
    }
    case "IPAMHandle": {
      const { handleID: _, ...value } = fields;
      return value;
    }
    case "IPAMConfig": {
      const { strictAffinity, autoAllocateBlocks, ...value } = fields;
      return { ...value, strict_affinity: strictAffinity === true, auto_allocate_blocks: autoAllocateBlocks === true };
    }
  }
}
