import { createHash } from "node:crypto";
import {
  type Address,
  type Cidr,
  containsAddress,
  containsCidr,
  formatAddress,
  formatCidr,
  maskCidr,
  parseCidr,
} from "@bulrush/ip";
import { DatastoreError } from "../errors.ts";
import {
  addressAfter,
  addressAt,
  type Assignment,
  assignmentAt,
  ordinalOf,
  ordinalsOf,
  type Owner,
  type ReadBlock,
  withoutOwner,
  withOwner,
  withRested,
} from "./block.ts";
import { affineNetworks, claimBlock } from "./block-affinity.ts";
import type { AddressPool } from "./eligible-pools.ts";
import {
  changeBlock,
  cidrText,
  countHandle,
  getBlock,
  type IpamContext,
  listBlocks,
  MAX_IPAM_ATTEMPTS,
  removeHandle,
} from "./ipam-records.ts";
import type { IpamSettings } from "./ipam-settings.ts";

/** The network of the block that has an address: that of its pool, else one that is there. */
export async function blockNetworkOf(
  context: IpamContext,
  pools: readonly AddressPool[],
  address: Address,
): Promise<string | undefined> {
  const pool = pools.find(({ cidr }) => containsAddress(cidr, address));
  if (pool !== undefined) return formatCidr(maskCidr({ ...address, prefixLength: pool.blockSize }));
  const block = (await listBlocks(context)).find(({ cidr }) => containsAddress(cidr, address));
  return block && cidrText(block);
}

/** What IPAM knows of an address in the block of this network; undefined: it is not assigned. */
export async function lookUpAddress(
  context: IpamContext,
  network: string,
  address: Address,
): Promise<Assignment | undefined> {
  const read = await getBlock(context, network);
  return read && assignmentIn(read, address);
}

function assignmentIn(read: ReadBlock, address: Address): Assignment | undefined {
  const ordinal = ordinalOf(read, address);
  return ordinal === undefined ? undefined : assignmentAt(read, ordinal);
}

export interface AssignRequest {
  readonly node: string;
  readonly pools: readonly AddressPool[];
  readonly owner: Owner;
  readonly settings: IpamSettings;
}

/**
 * Assigns a free address: out of the node's own blocks, else out of a block that it claims, else out of another's.
 * After an error the handle may have an address all the same; release it.
 *
 * @throws DatastoreError DATASTORE_FAILED if there is no free address.
 */
export async function assignAddress(context: IpamContext, request: AssignRequest): Promise<string> {
  const { node, pools, settings } = request;
  const all = await affineNetworks(context, node);
  const own = all.filter((network) => pools.some(({ cidr }) => isInside(network, cidr)));
  for (const network of own) {
    if (!(await claimBlock(context, node, network))) continue;
    const address = await takeFrom(context, network, request);
    if (address !== undefined) return address;
  }
  const hasRoom = settings.maxBlocksPerHost === 0 || all.length < settings.maxBlocksPerHost;
  if (settings.autoAllocate && hasRoom) {
    for (const network of unclaimedNetworks(request, await listBlocks(context))) {
      if (!(await claimBlock(context, node, network))) continue;
      const address = await takeFrom(context, network, request);
      if (address !== undefined) return address;
    }
  }
  if (!settings.strictAffinity) {
    // Those too that others have claimed meanwhile.
    for (const block of await listBlocks(context)) {
      // What is set aside for services and the like is not for hosts.
      const isForHosts = !(block.block.affinity ?? "").startsWith("virtual:");
      if (!isForHosts || !pools.some(({ cidr }) => containsCidr(cidr, block.cidr))) continue;
      const address = await takeFrom(context, cidrText(block), request);
      if (address !== undefined) return address;
    }
  }
  throw new DatastoreError(`No address is free in ${pools.map(({ name }) => name).join(", ")}`, {
    code: "DATASTORE_FAILED",
    data: { node, handle: request.owner.handle },
  });
}

function isInside(network: string, pool: Cidr): boolean {
  const cidr = parseCidr(network);
  return cidr !== undefined && containsCidr(pool, cidr);
}

/**
 * Networks in the pools that no block covers. Each host begins at another place, so that hosts that start together
 * seldom want the same one. As many as a host may try.
 */
function* unclaimedNetworks(
  { node, pools, settings }: AssignRequest,
  blocks: readonly ReadBlock[],
): Generator<string, void> {
  const start = BigInt(`0x${createHash("sha256").update(node).digest("hex").slice(0, 16)}`);
  let tries = 0;
  for (const { cidr, blockSize } of pools) {
    const inPool = blocks.filter((block) => containsCidr(cidr, block.cidr) || containsCidr(block.cidr, cidr));
    const known = new Set(inPool.map((block) => cidrText(block)));
    const odd = inPool.filter((block) => block.cidr.prefixLength !== blockSize);
    const count = 1n << BigInt(blockSize - cidr.prefixLength);
    const size = 1n << BigInt((cidr.family === 4 ? 32 : 128) - blockSize);
    for (let i = 0n; i < count && tries < MAX_IPAM_ATTEMPTS; i++) {
      const network: Cidr = { ...addressAfter(cidr, ((start + i) % count) * size), prefixLength: blockSize };
      const isTaken =
        known.has(formatCidr(network)) ||
        odd.some((block) => containsCidr(block.cidr, network) || containsCidr(network, block.cidr)) ||
        settings.reserved.some((reserved) => containsCidr(reserved, network));
      if (isTaken) continue;
      tries++;
      yield formatCidr(network);
    }
  }
}

/** The first free address of a block; undefined if there is none. */
async function takeFrom(
  context: IpamContext,
  network: string,
  { owner, settings }: AssignRequest,
): Promise<string | undefined> {
  const rested = (read: ReadBlock): ReadBlock => ({
    ...read,
    block: withRested(read.block, settings.cooldownSeconds, context.now()),
  });
  const firstFree = (read: ReadBlock): number | undefined =>
    read.block.unallocated.find((ordinal) => {
      const address = addressAt(read, ordinal);
      return !settings.reserved.some((reserved) => containsAddress(reserved, address));
    });
  const known = await getBlock(context, network);
  if (known === undefined || firstFree(rested(known)) === undefined) return undefined;
  let taken: string | undefined;
  // First: an address without a handle would be lost, a handle without an address is only too much.
  await countHandle(context, owner.handle, network, 1);
  const isTaken = await changeBlock(context, network, (newest) => {
    const read = rested(newest);
    const ordinal = firstFree(read);
    if (ordinal === undefined) return undefined;
    taken = formatAddress(addressAt(read, ordinal));
    return withOwner(read.block, ordinal, owner);
  });
  if (isTaken) return taken;
  await countHandle(context, owner.handle, network, -1);
  return undefined;
}

/** Makes an address the owner's if it is still assigned as it was `seen`. False if it is not. */
export async function claimAddress(
  context: IpamContext,
  network: string,
  address: Address,
  { owner, seen }: { readonly owner: Owner; readonly seen: Assignment },
): Promise<boolean> {
  const isCounted = seen.handle === owner.handle;
  if (!isCounted) await countHandle(context, owner.handle, network, 1);
  const isClaimed = await changeBlock(context, network, (read) => {
    const ordinal = ordinalOf(read, address);
    return ordinal !== undefined && isSame(assignmentAt(read, ordinal), seen)
      ? withOwner(read.block, ordinal, owner)
      : undefined;
  });
  if (!isClaimed && !isCounted) await countHandle(context, owner.handle, network, -1);
  return isClaimed;
}

/** Gives up all addresses of a handle. False if there is no such handle. */
export function releaseHandle(context: IpamContext, handle: string, settings: IpamSettings): Promise<boolean> {
  return removeHandle(context, handle, (network) =>
    changeBlock(context, network, (read) => {
      const ordinals = ordinalsOf(read, handle);
      if (ordinals.length === 0) return undefined;
      return withoutOwner(read.block, ordinals, settings.cooldownSeconds, context.now());
    }),
  );
}

/** Gives up one address if it is still assigned as it was `seen`. */
export async function releaseAddress(
  context: IpamContext,
  network: string,
  address: Address,
  { seen, settings }: { readonly seen: Assignment; readonly settings: IpamSettings },
): Promise<void> {
  const isReleased = await changeBlock(context, network, (read) => {
    const ordinal = ordinalOf(read, address);
    if (ordinal === undefined || !isSame(assignmentAt(read, ordinal), seen)) return undefined;
    return withoutOwner(read.block, [ordinal], settings.cooldownSeconds, context.now());
  });
  if (isReleased && seen.handle !== "") await countHandle(context, seen.handle, network, -1);
}

function isSame(a: Assignment | undefined, b: Assignment): boolean {
  return (
    a !== undefined &&
    a.handle === b.handle &&
    a.attributes.size === b.attributes.size &&
    [...a.attributes].every(([name, value]) => b.attributes.get(name) === value)
  );
}
