import { createHash } from "node:crypto";
import { formatCidr } from "@bulrush/ip";
import { type Block, CALICO_V3, isObject, type JsonObject, type Resource } from "@bulrush/model";
import type { DatastoreWriter, ResourceId, StoredResource } from "../driver/writer.ts";
import { DatastoreError, datastoreCodeOf } from "../errors.ts";
import { readBlock, type ReadBlock } from "./block.ts";

/** What everything that touches IPAM's records needs. */
export interface IpamContext {
  readonly writer: DatastoreWriter;
  readonly signal: AbortSignal;
  /** Unix time in milliseconds. */
  now(): number;
}

/** Tries of one change while others write the same record. */
export const MAX_IPAM_ATTEMPTS = 100;

export function calicoId(kind: string, name: string): ResourceId {
  return { apiVersion: CALICO_V3, kind, namespace: "", name };
}

/** A name for a network: all of `.`, `:` and `/` are `-`. */
function nameOfCidr(cidr: string): string {
  return cidr.replaceAll(/[.:/]/g, "-");
}

/** The name of an affinity; one that Kubernetes would not take ends in a hash. */
export function affinityName(node: string, cidr: string): string {
  const name = `${node}-${nameOfCidr(cidr)}`;
  if (name.length < 253) return name;
  return `${name.slice(0, 240)}-${createHash("sha256").update(name).digest("hex").slice(0, 11)}`;
}

/** In etcd the name is the handle itself; elsewhere names have no capitals. */
function handleName({ type }: DatastoreWriter, handle: string): string {
  return type === "etcdv3" ? handle : handle.toLowerCase();
}

/** Everything of a kind; nothing where the store does not know the kind. */
export async function listAll({ writer, signal }: IpamContext, kind: string): Promise<readonly StoredResource[]> {
  const all: StoredResource[] = [];
  try {
    for await (const page of writer.list({ apiVersion: CALICO_V3, kind }, signal)) all.push(...page);
  } catch (error) {
    if (datastoreCodeOf(error) !== "DATASTORE_NOT_FOUND") throw error;
  }
  return all;
}

interface StoredBlock extends ReadBlock {
  readonly stored: StoredResource;
}

/**
 * The block of a network. Undefined if there is none, or it is being deleted.
 *
 * @throws DatastoreError DATASTORE_MALFORMED for one that contradicts itself: whose its addresses are is not known.
 */
export async function getBlock({ writer, signal }: IpamContext, cidr: string): Promise<StoredBlock | undefined> {
  const stored = await writer.get(calicoId("IPAMBlock", nameOfCidr(cidr)), signal);
  const spec = stored?.resource.spec;
  if (stored === undefined || (isObject(spec) && spec["deleted"] === true)) return undefined;
  const read = readBlock(spec);
  if (read !== undefined) return { ...read, stored };
  throw new DatastoreError(`IPAMBlock ${stored.resource.metadata.name} contradicts itself`, {
    code: "DATASTORE_MALFORMED",
    data: { cidr },
  });
}

/** False if the block, or an affinity, is there already. */
export async function tryCreate(
  { writer, signal }: IpamContext,
  kind: string,
  name: string,
  spec: object,
  labels: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  const metadata = { name, ...(Object.keys(labels).length > 0 && { labels }) };
  try {
    await writer.create({ apiVersion: CALICO_V3, kind, metadata, spec }, signal);
    return true;
  } catch (error) {
    if (datastoreCodeOf(error) === "DATASTORE_ALREADY_EXISTS") return false;
    throw error;
  }
}

export function createBlock(context: IpamContext, block: Block): Promise<boolean> {
  return tryCreate(context, "IPAMBlock", nameOfCidr(block.cidr), block);
}

/**
 * Writes a block as `change` makes it of the newest one; done again after a lost race. False if there is no such block,
 * or `change` gives undefined. A block that is nobody's and has no assigned address goes.
 */
export async function changeBlock(
  context: IpamContext,
  cidr: string,
  change: (read: ReadBlock) => Block | undefined,
): Promise<boolean> {
  return retried(`IPAMBlock ${cidr}`, async () => {
    const known = await getBlock(context, cidr);
    const block = known && change(known);
    if (known === undefined || block === undefined) return false;
    const { writer, signal } = context;
    const { resource, revision } = known.stored;
    const isUnused = (block.affinity ?? "") === "" && block.allocations.every((index) => index === null);
    if (isUnused) await writer.delete(calicoId("IPAMBlock", resource.metadata.name), revision, signal);
    else await writer.update({ ...resource, spec: block }, revision, signal);
    return true;
  });
}

/** Counts addresses that a handle has in a block. A handle that has none left goes. */
export async function countHandle(context: IpamContext, handle: string, cidr: string, change: 1 | -1): Promise<void> {
  const { writer, signal } = context;
  const id = calicoId("IPAMHandle", handleName(writer, handle));
  await retried(`IPAMHandle ${handle}`, async () => {
    const known = await writer.get(id, signal);
    const blocks = known === undefined ? {} : blocksOf(known.resource);
    const count = (blocks[cidr] ?? 0) + change;
    const rest = Object.entries({ ...blocks, [cidr]: count }).filter(([, left]) => left > 0);
    const spec = { handleID: handle, block: Object.fromEntries(rest), deleted: false };
    if (known === undefined) {
      if (rest.length > 0)
        await writer.create({ apiVersion: CALICO_V3, kind: id.kind, metadata: { name: id.name }, spec }, signal);
    } else if (rest.length > 0) await writer.update({ ...known.resource, spec }, known.revision, signal);
    else await writer.delete(id, known.revision, signal);
  });
}

/** Takes a handle away after `release` was called for each of its blocks. False if there is no such handle. */
export async function removeHandle(
  { writer, signal }: IpamContext,
  handle: string,
  release: (cidr: string) => Promise<unknown>,
): Promise<boolean> {
  const id = calicoId("IPAMHandle", handleName(writer, handle));
  let isKnown = false;
  await retried(`IPAMHandle ${handle}`, async () => {
    const known = await writer.get(id, signal);
    if (known === undefined) return;
    isKnown = true;
    for (const cidr of Object.keys(blocksOf(known.resource))) await release(cidr);
    await writer.delete(id, known.revision, signal);
  });
  return isKnown;
}

/** Those of a handle that is being deleted do not count. */
function blocksOf({ spec }: Resource): Readonly<Record<string, number>> {
  const { block, deleted } = isObject(spec) ? spec : ({} as JsonObject);
  if (!isObject(block) || deleted === true) return {};
  return Object.fromEntries(Object.entries(block).flatMap(([cidr, n]) => (typeof n === "number" ? [[cidr, n]] : [])));
}

/** @throws DatastoreError DATASTORE_CONFLICT after a hundred lost races. */
export async function retried<T>(what: string, run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; attempt <= MAX_IPAM_ATTEMPTS; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (!isLostRace(error)) throw error;
    }
  }
  throw new DatastoreError(`${what}: others wrote it ${MAX_IPAM_ATTEMPTS} times`, { code: "DATASTORE_CONFLICT" });
}

function isLostRace(error: unknown): boolean {
  const code = datastoreCodeOf(error);
  return code === "DATASTORE_CONFLICT" || code === "DATASTORE_ALREADY_EXISTS" || code === "DATASTORE_NOT_FOUND";
}

/** All blocks that can be read. */
export async function listBlocks(context: IpamContext): Promise<readonly ReadBlock[]> {
  const all = await listAll(context, "IPAMBlock");
  return all.flatMap(({ resource }) => readBlock(resource.spec) ?? []);
}

export function cidrText({ cidr }: Pick<ReadBlock, "cidr">): string {
  return formatCidr(cidr);
}
