import { type Cidr, parseCidr } from "@bulrush/ip";
import { isObject } from "@bulrush/model";
import { datastoreCodeOf } from "../errors.ts";
import { calicoId, type IpamContext, listAll } from "./ipam-records.ts";

/** How addresses are assigned in the whole cluster. */
export interface IpamSettings {
  /** No host takes addresses from the block of another. Default false. */
  readonly strictAffinity: boolean;
  /** A host that needs a block takes one. Default true. */
  readonly autoAllocate: boolean;
  /** 0: no limit. Default 20. */
  readonly maxBlocksPerHost: number;
  /** How long an address stays unused after its release. Default 0. */
  readonly cooldownSeconds: number;
  /** Never assigned automatically. */
  readonly reserved: readonly Cidr[];
}

/** The kind has one name in either group; a directory may hold both. */
const CONFIG_KINDS = ["IPAMConfiguration", "IPAMConfig"] as const;

export async function readIpamSettings(context: IpamContext): Promise<IpamSettings> {
  const spec = await configSpec(context);
  const count = (value: unknown, standard: number): number =>
    typeof value === "number" && value >= 0 ? value : standard;
  const reservations = await listAll(context, "IPReservation");
  return {
    strictAffinity: spec["strictAffinity"] === true,
    autoAllocate: spec["autoAllocateBlocks"] !== false,
    maxBlocksPerHost: count(spec["maxBlocksPerHost"], 20),
    cooldownSeconds: count(spec["ipCooldownSeconds"], 0),
    reserved: reservations.flatMap(({ resource }) => reservedBy(resource.spec)),
  };
}

async function configSpec({ writer, signal }: IpamContext): Promise<Readonly<Record<string, unknown>>> {
  for (const kind of CONFIG_KINDS) {
    try {
      const spec = (await writer.get(calicoId(kind, "default"), signal))?.resource.spec;
      if (isObject(spec)) return spec;
    } catch (error) {
      if (datastoreCodeOf(error) !== "DATASTORE_NOT_FOUND") throw error;
    }
  }
  return {};
}

function reservedBy(spec: unknown): readonly Cidr[] {
  const list = isObject(spec) ? spec["reservedCIDRs"] : undefined;
  if (!Array.isArray(list)) return [];
  return list.flatMap((text: unknown) => (typeof text === "string" ? (parseCidr(text) ?? []) : []));
}
