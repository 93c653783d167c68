import { assert } from "@bulrush/base";
import {
  addressBytes,
  type Address,
  addressFromBytes,
  type Cidr,
  containsAddress,
  maxPrefixLength,
  parseCidr,
} from "@bulrush/ip";
import { type Block, type BlockAttribute, isObject } from "@bulrush/model";

/** What IPAM knows of an assigned address. */
export interface Assignment {
  /** "" for none. */
  readonly handle: string;
  readonly attributes: ReadonlyMap<string, string>;
}

/** Whom an address is assigned to. */
export interface Owner {
  readonly handle: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** A block that can be read. One that is being deleted is none, nor one whose lists contradict each other. */
export interface ReadBlock {
  readonly block: Block;
  readonly cidr: Cidr;
}

export function readBlock(spec: unknown): ReadBlock | undefined {
  if (!isObject(spec) || spec["deleted"] === true) return undefined;
  const block = spec as unknown as Block;
  const cidr = typeof block.cidr === "string" ? parseCidr(block.cidr) : undefined;
  if (cidr === undefined || ![block.allocations, block.unallocated, block.attributes].every(Array.isArray))
    return undefined;
  const { allocations, unallocated, attributes } = block;
  if (allocations.length !== 2 ** (maxPrefixLength(cidr.family) - cidr.prefixLength)) return undefined;
  const isSound =
    allocations.every((index) => index === null || isObject(attributes[index])) &&
    unallocated.every((ordinal) => allocations[ordinal] === null);
  return isSound ? { block, cidr } : undefined;
}

/** A new block whose addresses are all free. `nowMs`: Unix time. */
export function emptyBlock(cidr: string, node: string, nowMs: number): Block {
  const parsed = parseCidr(cidr);
  assert(parsed !== undefined, "A block has a network");
  const size = 2 ** (maxPrefixLength(parsed.family) - parsed.prefixLength);
  return {
    cidr,
    affinity: hostAffinity(node),
    allocations: Array.from({ length: size }, () => null),
    unallocated: Array.from({ length: size }, (_, ordinal) => ordinal),
    attributes: [],
    sequenceNumber: nowMs * 1e6,
    sequenceNumberForAllocation: {},
    deleted: false,
  };
}

export function hostAffinity(node: string): string {
  return `host:${node}`;
}

/** Where an address stands in the lists of a block that contains it. */
export function ordinalOf({ cidr }: ReadBlock, address: Address): number | undefined {
  if (!containsAddress(cidr, address)) return undefined;
  return Number(numberOf(address) - numberOf(cidr));
}

export function addressAt({ cidr }: ReadBlock, ordinal: number): Address {
  return addressAfter(cidr, BigInt(ordinal));
}

/** The address `distance` behind the first one of a network. */
export function addressAfter(cidr: Cidr, distance: bigint): Address {
  const length = cidr.family === 4 ? 4 : 16;
  const hex = (numberOf(cidr) + distance).toString(16).padStart(length * 2, "0");
  return addressFromBytes(Buffer.from(hex, "hex"));
}

function numberOf(address: Address): bigint {
  return BigInt(`0x${Buffer.from(addressBytes(address)).toString("hex")}`);
}

/** Undefined for an address that is free, or was released and rests. */
export function assignmentAt({ block }: ReadBlock, ordinal: number): Assignment | undefined {
  const index = block.allocations[ordinal];
  const attribute = typeof index === "number" ? block.attributes[index] : undefined;
  return attribute === undefined || isResting(attribute) ? undefined : assignmentOf(attribute);
}

function assignmentOf({ handle_id, secondary }: BlockAttribute): Assignment {
  return { handle: handle_id ?? "", attributes: new Map(Object.entries(secondary ?? {})) };
}

function isResting({ releasedAt }: BlockAttribute): boolean {
  return releasedAt !== undefined && releasedAt !== null && releasedAt !== "";
}

/** Frees what was released more than `cooldownSeconds` ago. */
export function withRested(block: Block, cooldownSeconds: number, nowMs: number): Block {
  const rested = block.allocations.flatMap((index, ordinal) => {
    const attribute = typeof index === "number" ? block.attributes[index] : undefined;
    if (attribute === undefined || !isResting(attribute)) return [];
    const sinceMs = Date.parse(attribute.releasedAt ?? "");
    return nowMs - sinceMs >= cooldownSeconds * 1000 ? [ordinal] : [];
  });
  return rested.length === 0 ? block : freed(block, rested);
}

/** The block with the owner at this place, whatever was there. */
export function withOwner(block: Block, ordinal: number, owner: Owner): Block {
  const attribute: BlockAttribute = { handle_id: owner.handle, secondary: owner.attributes };
  const sequenceNumber = nextSequence(block.sequenceNumber ?? 0);
  return compact({
    ...block,
    allocations: block.allocations.with(ordinal, block.attributes.length),
    unallocated: block.unallocated.filter((one) => one !== ordinal),
    attributes: [...block.attributes, attribute],
    sequenceNumber,
    sequenceNumberForAllocation: { ...block.sequenceNumberForAllocation, [ordinal]: sequenceNumber },
  });
}

/** The block with these places given up: free at once, or resting where there is a time for that. */
export function withoutOwner(block: Block, ordinals: readonly number[], cooldownSeconds: number, nowMs: number): Block {
  if (cooldownSeconds === 0) return freed(block, ordinals);
  const resting: BlockAttribute = { releasedAt: new Date(nowMs).toISOString() };
  const given = new Set(ordinals);
  const index = block.attributes.length;
  return compact({
    ...block,
    allocations: block.allocations.map((one, ordinal) => (given.has(ordinal) ? index : one)),
    attributes: [...block.attributes, resting],
    sequenceNumber: nextSequence(block.sequenceNumber ?? 0),
    sequenceNumberForAllocation: without(block.sequenceNumberForAllocation, given),
  });
}

/** The ordinals that are under a handle. */
export function ordinalsOf(read: ReadBlock, handle: string): readonly number[] {
  return read.block.allocations.flatMap((_, ordinal) =>
    assignmentAt(read, ordinal)?.handle === handle ? [ordinal] : [],
  );
}

function freed(block: Block, ordinals: readonly number[]): Block {
  const given = new Set(ordinals);
  return compact({
    ...block,
    allocations: block.allocations.map((one, ordinal) => (given.has(ordinal) ? null : one)),
    // To the end: an address is not used again before all the others.
    unallocated: [...block.unallocated, ...ordinals],
    sequenceNumber: nextSequence(block.sequenceNumber ?? 0),
    sequenceNumberForAllocation: without(block.sequenceNumberForAllocation, given),
  });
}

function without(
  sequences: Block["sequenceNumberForAllocation"],
  ordinals: ReadonlySet<number>,
): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(sequences ?? {}).filter(([ordinal]) => !ordinals.has(Number(ordinal))));
}

/** Without attributes that nobody has, and with the others counted anew. */
function compact(block: Block): Block {
  const used = [...new Set(block.allocations.filter((index) => index !== null))].sort((a, b) => a - b);
  const places = new Map(used.map((index, place) => [index, place]));
  return {
    ...block,
    allocations: block.allocations.map((index) => (index === null ? null : (places.get(index) ?? null))),
    attributes: block.attributes.filter((_, index) => places.has(index)),
  };
}

/**
 * A larger number that can be told apart. The counters of blocks begin at the time in nanoseconds, where a number here
 * stands for 256 of theirs: one more would be the same one, and two assignments of an address could not be told apart.
 * What was rounded down at reading is passed too.
 */
export function nextSequence(sequence: number): number {
  if (sequence < Number.MAX_SAFE_INTEGER) return sequence + 1;
  return sequence + 2 ** (Math.floor(Math.log2(sequence)) - 52);
}
