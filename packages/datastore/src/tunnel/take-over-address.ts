import { type Address, formatAddress, parseAddress } from "@bulrush/ip";
import type { Block, BlockAttribute } from "@bulrush/model";
import type { DatastoreWriter } from "../driver/writer.ts";
import { DatastoreError } from "../errors.ts";
import { ordinalOf, type ReadBlock } from "./block.ts";
import { addressPool } from "./eligible-pools.ts";
import { blockNetworkOf } from "./ipam.ts";
import { changeBlock, type IpamContext, listAll } from "./ipam-records.ts";

export interface TakeOverOptions {
  /** As text. */
  readonly address: string;
  /** The pod in which the machine is now. */
  readonly pod: { readonly namespace: string; readonly name: string };
  readonly signal: AbortSignal;
}

/**
 * Makes the pod that a machine has moved to the owner of the machine's address: owner and next owner change places, so
 * that other hosts send its packets to the pod's host. True when it had to be written, false when the pod is the owner.
 *
 * @throws DatastoreError as the writer does; DATASTORE_NOT_FOUND when the address is not assigned, DATASTORE_FAILED
 * when the next owner that IPAM knows of is another.
 */
export async function takeOverAddress(writer: DatastoreWriter, options: TakeOverOptions): Promise<boolean> {
  const { address: text, pod, signal } = options;
  const context: IpamContext = { writer, signal, now: () => 0 };
  const address = parseAddress(text);
  const pools = (await listAll(context, "IPPool")).flatMap(({ resource }) => addressPool(resource) ?? []);
  const network = address === undefined ? undefined : await blockNetworkOf(context, pools, address);
  let isOwner = false;
  const isWritten =
    address !== undefined &&
    network !== undefined &&
    (await changeBlock(context, network, (read) => {
      const found = attributeOf(read, address);
      if (found === undefined) return undefined;
      isOwner = isOf(found.attribute.secondary, pod);
      if (isOwner) return undefined;
      if (!isOf(found.attribute.alternateOwnerAttrs, pod))
        throw new DatastoreError(`${formatAddress(address)} is not to be taken over by ${pod.namespace}/${pod.name}`, {
          code: "DATASTORE_FAILED",
          data: { address: text, owner: found.attribute.secondary, next: found.attribute.alternateOwnerAttrs },
        });
      return withOwnersChanged(read.block, found.index);
    }));
  if (isWritten || isOwner) return isWritten;
  throw new DatastoreError(`${text} is not assigned to anybody`, {
    code: "DATASTORE_NOT_FOUND",
    data: { address: text },
  });
}

function attributeOf(
  read: ReadBlock,
  address: Address,
): { readonly attribute: BlockAttribute; readonly index: number } | undefined {
  const ordinal = ordinalOf(read, address);
  const index = ordinal === undefined ? undefined : read.block.allocations[ordinal];
  const attribute = typeof index === "number" ? read.block.attributes[index] : undefined;
  return attribute === undefined || typeof index !== "number" ? undefined : { attribute, index };
}

function isOf(attributes: Readonly<Record<string, string>> | null | undefined, pod: TakeOverOptions["pod"]): boolean {
  return attributes?.["namespace"] === pod.namespace && attributes["pod"] === pod.name;
}

/** All addresses that share the attribute are the machine's. */
function withOwnersChanged(block: Block, index: number): Block {
  const attributes = block.attributes.map((attribute, i): BlockAttribute => {
    const { alternateOwnerAttrs: next, secondary: owner, ...rest } = attribute;
    if (i !== index) return attribute;
    return { ...rest, ...(next && { secondary: next }), ...(owner && { alternateOwnerAttrs: owner }) };
  });
  return { ...block, attributes };
}
