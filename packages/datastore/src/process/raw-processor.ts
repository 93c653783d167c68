import { canonicalCidr } from "@bulrush/ip";
import type { Block, BlockAffinity, Key, Resource, ResourceKind, Value } from "@bulrush/model";
import { processed, simpleProcessor, type UpdateProcessor } from "./processor.ts";

/** Resources that travel as they are. */
export function rawProcessor(kind: ResourceKind): UpdateProcessor {
  return simpleProcessor(({ item, value, issues }) =>
    processed([{ key: { type: "Resource", kind, namespace: item.namespace, name: item.name }, value }], issues),
  );
}

/** IPAM blocks: the value is the spec; the key is in the name, so that one that is gone has it too. */
export function blockProcessor(): UpdateProcessor {
  return simpleProcessor(({ item, value, issues }) => {
    const cidr = cidrOfName(item.name);
    if (cidr === undefined) return processed([], issues);
    return processed([{ key: { type: "Block", cidr }, value: specOf<Block>(value) }], issues);
  });
}

/** Block affinities, named `<host>-<cidr>`; only those of `host` where one is given. */
export function blockAffinityProcessor(host = ""): UpdateProcessor {
  return rememberingKeys<BlockAffinity>((spec) => {
    const { node, cidr, type } = spec as { node?: string; cidr?: string; type?: string };
    if (typeof node !== "string" || typeof cidr !== "string" || (host !== "" && node !== host)) return undefined;
    return { type: "BlockAffinity", affinityType: type === "virtual" ? "virtual" : "host", host: node, cidr };
  });
}

/** A processor whose v1 key is in the contents: the key of what is gone is remembered from before. */
function rememberingKeys<T extends Value>(keyOf: (spec: unknown) => Key | undefined): UpdateProcessor {
  const keys = new Map<string, Key>();
  return {
    process({ item, value, issues }) {
      const spec = specOf<T>(value);
      const key = (spec === undefined ? undefined : keyOf(spec)) ?? keys.get(item.name);
      if (key === undefined) return processed([], issues);
      if (spec === undefined) keys.delete(item.name);
      else keys.set(item.name, key);
      return processed([{ key, value: spec }], issues);
    },
    onSyncerStarting: () => keys.clear(),
  };
}

function specOf<T>(value: Resource | undefined): T | undefined {
  return value?.spec as T | undefined;
}

/**
 * The CIDR in a name such as `10-0-0-0-26` or `fd00-10---122`, where `.`, `:` and `/` are all written `-`. Undefined if
 * there is none.
 */
export function cidrOfName(name: string): string | undefined {
  const slash = name.lastIndexOf("-");
  if (slash <= 0) return undefined;
  const [address, length] = [name.slice(0, slash), name.slice(slash + 1)];
  const isV4 = /^\d{1,3}(?:-\d{1,3}){3}$/.test(address) && Number(length) <= 32;
  const cidr = `${address.replaceAll("-", isV4 ? "." : ":")}/${length}`;
  return canonicalCidr(cidr);
}
