import { formatCidr, parseCidr } from "@bulrush/ip";
import { isObject, type Resource } from "@bulrush/model";
import { hostnameHash } from "../kubernetes/hostname-hash.ts";
import { emptyBlock, hostAffinity } from "./block.ts";
import {
  affinityName,
  calicoId,
  createBlock,
  getBlock,
  type IpamContext,
  listAll,
  retried,
  tryCreate,
} from "./ipam-records.ts";

/** The networks of which a host has claimed the block, or begun to, sorted; not those that it is giving up. */
export async function affineNetworks(context: IpamContext, node: string): Promise<readonly string[]> {
  const all = await listAll(context, "BlockAffinity");
  const networks = all.flatMap(({ resource }) => {
    const { cidr, node: host, type = "host", state } = specOf(resource);
    const parsed = typeof cidr === "string" ? parseCidr(cidr) : undefined;
    const isOurs = host === node && (type === "host" || type === "") && !isLeaving(resource);
    return parsed !== undefined && isOurs && state !== "pendingDeletion" ? [formatCidr(parsed)] : [];
  });
  return networks.sort();
}

/**
 * Makes the block of a network the host's own. False if it is another's.
 *
 *     (no affinity) ── create ──> pending ── block created, or ours already ──> confirmed
 *                                    └────── block is another's ──> affinity deleted
 *
 * Whatever ends in between is taken up again: a pending affinity is the host's own.
 */
export async function claimBlock(context: IpamContext, node: string, cidr: string): Promise<boolean> {
  const name = affinityName(node, cidr);
  const labels = {
    "projectcalico.org/affinity-type": "host",
    "projectcalico.org/hostname-hash": hostnameHash(node),
    "projectcalico.org/ip-version": cidr.includes(":") ? "6" : "4",
  };
  await tryCreate(context, "BlockAffinity", name, { state: "pending", node, type: "host", cidr }, labels);
  const isMade = await createBlock(context, emptyBlock(cidr, node, context.now()));
  const isOurs = isMade || (await getBlock(context, cidr))?.block.affinity === hostAffinity(node);
  return retried(`BlockAffinity ${name}`, async () => {
    const { writer, signal } = context;
    const id = calicoId("BlockAffinity", name);
    const known = await writer.get(id, signal);
    if (known === undefined) return isOurs;
    const spec = specOf(known.resource);
    if (!isOurs) await writer.delete(id, known.revision, signal);
    else if (spec["state"] !== "confirmed")
      await writer.update({ ...known.resource, spec: { ...spec, state: "confirmed" } }, known.revision, signal);
    return isOurs;
  });
}

function specOf({ spec }: Resource): Readonly<Record<string, unknown>> {
  return isObject(spec) ? spec : {};
}

function isLeaving(resource: Resource): boolean {
  const { deleted } = specOf(resource);
  return deleted === true || deleted === "true";
}
