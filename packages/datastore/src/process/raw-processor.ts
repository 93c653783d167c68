import { canonicalCidr } from "@bulrush/ip";
import {
  type Block,
  type BlockAffinity,
  formatKey,
  isObject,
  type JsonObject,
  type Key,
  type ResourceKind,
  type Value,
} from "@bulrush/model";
import { errorAt } from "./issue.ts";
import { processed, type ProcessedKV, simpleProcessor, type UpdateProcessor } from "./processor.ts";

/** Resources that travel as they are. */
export function rawProcessor(kind: ResourceKind): UpdateProcessor {
  return simpleProcessor(({ item, value, issues }) =>
    processed([{ key: { type: "Resource", kind, namespace: item.namespace, name: item.name }, value }], issues),
  );
}

/**
 * IPAM blocks: the value is the spec, the key its CIDR. One whose spec has none, or that is gone, is known by its name.
 */
export function blockProcessor(): UpdateProcessor {
  return keyedByContents((name, spec) => {
    const cidr = netOf(spec?.["cidr"]) ?? cidrOfName(name);
    if (cidr === undefined) return undefined;
    const lists = { allocations: [], unallocated: [], attributes: [] };
    return { key: { type: "Block", cidr }, value: spec && ({ ...lists, ...spec } as unknown as Block) };
  });
}

/**
 * Block affinities, named `<host>-<cidr>`. Of `host` only, where one is given: a driver's watch may bring those of
 * other hosts too, which its list left out.
 */
export function blockAffinityProcessor(host = ""): UpdateProcessor {
  return keyedByContents((_name, spec) => {
    const { node, cidr: net, type, state, deleted } = spec ?? {};
    const cidr = netOf(net);
    if (typeof node !== "string" || node === "" || cidr === undefined) return undefined;
    if (host !== "" && node !== host) return "another's";
    const affinityType = type === "virtual" ? "virtual" : "host";
    const value: BlockAffinity = {
      ...(typeof state === "string" && { state }),
      // The older group writes it as text.
      ...((deleted === true || deleted === "true") && { deleted: true }),
    };
    return { key: { type: "BlockAffinity", affinityType, host: node, cidr }, value };
  });
}

interface Keyed {
  readonly key: Key;
  readonly value: Value | undefined;
}

/** What an item is; "another's": nothing to this processor; undefined: it cannot be read. */
type Read = Keyed | "another's" | undefined;

/**
 * A processor whose v1 key is in the contents. The key that an item had is remembered, for when it goes or changes.
 * Invariant: `keys` holds the key of each item that is alive at the consumer.
 */
function keyedByContents(read: (name: string, spec: JsonObject | undefined) => Read): UpdateProcessor {
  const keys = new Map<string, Key>();
  return {
    process({ item, value, issues = [] }) {
      const spec = isObject(value?.spec) ? value.spec : undefined;
      const found = read(item.name, spec);
      const now = found === "another's" ? undefined : found;
      const before = keys.get(item.name);
      const outputs: ProcessedKV[] = [];
      if (before !== undefined && (now === undefined || formatKey(now.key) !== formatKey(before)))
        outputs.push({ key: before, value: undefined });
      if (now !== undefined) outputs.push(now);
      if (now?.value === undefined) keys.delete(item.name);
      else keys.set(item.name, now.key);
      const isUnreadable = value !== undefined && found !== "another's" && now?.value === undefined;
      return processed(outputs, isUnreadable ? [...issues, errorAt("spec", "Cannot be read")] : issues);
    },
    onSyncerStarting: () => keys.clear(),
  };
}

function netOf(value: unknown): string | undefined {
  return typeof value === "string" ? canonicalCidr(value) : undefined;
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
