import { type Address, parseAddress } from "@bulrush/ip";
import { isObject, type NodeResource, sameValue } from "@bulrush/model";
import type { DatastoreWriter } from "../driver/writer.ts";
import { DatastoreError } from "../errors.ts";
import type { Assignment, Owner } from "./block.ts";
import { addressPool, type AddressPool, eligiblePools } from "./eligible-pools.ts";
import { assignAddress, blockNetworkOf, claimAddress, lookUpAddress, releaseAddress, releaseHandle } from "./ipam.ts";
import { calicoId, type IpamContext, listAll, retried } from "./ipam-records.ts";
import { type IpamSettings, readIpamSettings } from "./ipam-settings.ts";
import { planTunnelAddress, type TunnelPlan } from "./plan-tunnel-address.ts";
import {
  TUNNEL_KINDS,
  tunnelAddressOf,
  tunnelAttributes,
  tunnelHandle,
  type TunnelKind,
  withTunnelAddress,
} from "./tunnel-kind.ts";

/** Whose addresses, and what of the host's settings counts. */
export interface TunnelAddressOptions {
  /** The name of the Node. */
  readonly node: string;
  readonly signal: AbortSignal;
  /** Unix time in milliseconds. */
  readonly now: () => number;
  /** FELIX_WIREGUARDHOSTENCRYPTIONENABLED: WireGuard then has no address. Default false. */
  readonly wireguardHostEncryption?: boolean;
  /** Only says what would be done. Default false. */
  readonly dryRun?: boolean;
}

/** What became of the address of one device. */
export interface TunnelAddressResult {
  readonly kind: TunnelKind;
  readonly plan: TunnelPlan;
  /** What the node said before; "" for nothing. */
  readonly before: string;
  /** What it says now; "" for nothing. Undefined in a dry run where only assigning would tell. */
  readonly after: string | undefined;
}

/**
 * Gives a node the tunnel addresses that the pools ask for, and takes back those that they do not, one device after the
 * other; the node is written once, if anything changed. It can be run again at any time: what was left half done is
 * found by its handle.
 *
 * @throws DatastoreError as the writer does; DATASTORE_NOT_FOUND without such a node; DATASTORE_FAILED where no address
 * is free; or somebody else sets the same fields. What was newly assigned is released then.
 */
export async function reconcileTunnelAddresses(
  writer: DatastoreWriter,
  options: TunnelAddressOptions,
): Promise<readonly TunnelAddressResult[]> {
  const { node: name, signal, now, dryRun = false } = options;
  const context: IpamContext = { writer, signal, now };
  const node = await readNode(context, name);
  const pools = (await listAll(context, "IPPool")).map(({ resource }) => resource);
  const settings = await readIpamSettings(context);
  const known = pools.flatMap((pool) => addressPool(pool) ?? []);
  const results: TunnelAddressResult[] = [];
  const assigned: string[] = [];
  try {
    for (const kind of TUNNEL_KINDS) {
      const eligible = eligiblePools(kind, node, pools, options);
      const device = await readDevice(context, { kind, node, eligible, known });
      const run = { context, node: name, device, settings, assigned };
      const after = dryRun ? expectedAfter(device) : await carryOut(run);
      results.push({ kind, plan: device.plan, before: device.before, after });
    }
    if (!dryRun) await writeNode(context, name, results);
    return results;
  } catch (error) {
    // The handles tell whoever comes next what is left, so that one that cannot be released is no further harm.
    for (const handle of assigned) await releaseHandle(context, handle, settings).catch(() => false);
    throw error;
  }
}

async function readNode({ writer, signal }: IpamContext, name: string): Promise<NodeResource> {
  const stored = await writer.get(calicoId("Node", name), signal);
  if (stored !== undefined) return stored.resource as NodeResource;
  throw new DatastoreError(`There is no Node ${name}`, { code: "DATASTORE_NOT_FOUND", data: { node: name } });
}

/** A device with what is known of it, and what is to be done. */
interface Device {
  readonly kind: TunnelKind;
  readonly eligible: readonly AddressPool[];
  readonly before: string;
  /** Where the address of before is assigned; undefined: nowhere. */
  readonly held: { readonly address: Address; readonly network: string; readonly seen: Assignment } | undefined;
  readonly plan: TunnelPlan;
}

async function readDevice(
  context: IpamContext,
  {
    kind,
    node,
    eligible,
    known,
  }: {
    readonly kind: TunnelKind;
    readonly node: NodeResource;
    readonly eligible: readonly AddressPool[];
    readonly known: readonly AddressPool[];
  },
): Promise<Device> {
  const before = tunnelAddressOf(kind, node);
  const address = parseAddress(before);
  const network = address && (await blockNetworkOf(context, known, address));
  const seen = network === undefined ? undefined : address && (await lookUpAddress(context, network, address));
  const { name } = node.metadata;
  const plan = planTunnelAddress({ kind, node: name, pools: eligible, address: before, assignment: seen });
  const held = address && network !== undefined && seen ? { address, network, seen } : undefined;
  return { kind, eligible, before, held, plan };
}

function expectedAfter({ plan, before }: Device): string | undefined {
  switch (plan.action) {
    case "keep":
    case "re-claim":
      return before;
    case "clear":
      return "";
    case "assign":
      return undefined;
  }
}

interface Run {
  readonly context: IpamContext;
  readonly node: string;
  readonly device: Device;
  readonly settings: IpamSettings;
  /** Handles under which something was assigned, or may have been. */
  readonly assigned: string[];
}

/** The address that the device has then. */
async function carryOut({ context, node, device, settings, assigned }: Run): Promise<string> {
  const { kind, eligible, before, held, plan } = device;
  if (plan.action === "keep") return before;
  const handle = tunnelHandle(kind, node);
  const owner: Owner = { handle, attributes: tunnelAttributes(kind, node) };
  if (plan.action === "re-claim") {
    // What a run that did not finish has left under the handle.
    if (held?.seen.handle !== handle) await releaseHandle(context, handle, settings);
    assigned.push(handle);
    if (held !== undefined && (await claimAddress(context, held.network, held.address, { owner, seen: held.seen })))
      return before;
  } else {
    const byHandle = plan.release === "handle" || plan.release === "handle-else-address";
    const isReleased = byHandle && (await releaseHandle(context, handle, settings));
    const byAddress = plan.release === "address" || (plan.release === "handle-else-address" && !isReleased);
    if (byAddress && held !== undefined)
      await releaseAddress(context, held.network, held.address, { seen: held.seen, settings });
    if (plan.action === "clear") return "";
    assigned.push(handle);
  }
  return assignAddress(context, { node, pools: eligible, owner, settings });
}

/** Sets the fields on the newest node, whatever else was written to it meanwhile. */
async function writeNode(
  { writer, signal }: IpamContext,
  name: string,
  results: readonly TunnelAddressResult[],
): Promise<void> {
  await retried(`Node ${name}`, async () => {
    const stored = await writer.get(calicoId("Node", name), signal);
    const node = stored?.resource as NodeResource | undefined;
    if (stored === undefined || node === undefined || results.some((one) => isOvertaken(node, one))) {
      throw new DatastoreError(`Node ${name} is gone, or somebody else set its tunnel addresses`, {
        // Not a lost race of this one write: what was planned no longer holds.
        code: "DATASTORE_FAILED",
        data: { node: name },
      });
    }
    let wanted = node;
    for (const { kind, after = "" } of results) {
      if (after !== tunnelAddressOf(kind, node)) wanted = withTunnelAddress(kind, wanted, after);
    }
    if (!sameValue(wanted.spec, isObject(node.spec) ? node.spec : {}))
      await writer.update(wanted, stored.revision, signal);
  });
}

function isOvertaken(node: NodeResource, { kind, before, after }: TunnelAddressResult): boolean {
  const found = tunnelAddressOf(kind, node);
  return found !== before && found !== after;
}
