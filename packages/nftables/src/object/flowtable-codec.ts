import { type AttributeReader, type MessageReader, type MessageWriter, NFGEN_BYTES } from "@bulrush/netlink";
import type { FlowtableShape } from "../operation.ts";

/** enum nft_flowtable_attributes, nft_flowtable_hook_attributes, nft_devices_attributes, nft_flowtable_flags */
const NFTA_FLOWTABLE = { TABLE: 1, NAME: 2, HOOK: 3, FLAGS: 7 } as const;
const NFTA_FLOWTABLE_HOOK = { NUM: 1, PRIORITY: 2, DEVS: 3 } as const;
const NFTA_DEVICE_NAME = 1;
const NFT_FLOWTABLE_COUNTER = 2;

/** NF_NETDEV_INGRESS, the one hook of flow tables. */
const INGRESS = 0;
const PRIORITY = 0;

/** Which flow table; with an empty name, all of the table (to list them). */
export function writeFlowtableRef(writer: MessageWriter, table: string, name: string): void {
  writer.attrString(NFTA_FLOWTABLE.TABLE, table);
  if (name !== "") writer.attrString(NFTA_FLOWTABLE.NAME, name);
}

export function writeFlowtable(writer: MessageWriter, table: string, flowtable: FlowtableShape): void {
  writeFlowtableDevices(writer, table, flowtable);
  writer.attrU32be(NFTA_FLOWTABLE.FLAGS, NFT_FLOWTABLE_COUNTER);
}

/** The flow table, its hook and devices: what a delete of devices names. */
export function writeFlowtableDevices(writer: MessageWriter, table: string, flowtable: FlowtableShape): void {
  writeFlowtableRef(writer, table, flowtable.name);
  const hook = writer.nest(NFTA_FLOWTABLE.HOOK);
  writer.attrU32be(NFTA_FLOWTABLE_HOOK.NUM, INGRESS);
  writer.attrU32be(NFTA_FLOWTABLE_HOOK.PRIORITY, PRIORITY);
  if (flowtable.devices.length > 0) {
    const devices = writer.nest(NFTA_FLOWTABLE_HOOK.DEVS);
    for (const name of flowtable.devices) writer.attrString(NFTA_DEVICE_NAME, name);
    writer.endNest(devices);
  }
  writer.endNest(hook);
}

export interface DecodedFlowtable {
  readonly table: string;
  readonly name: string;
  /** On the hook, with the priority and flags that we give. */
  readonly isOwnKind: boolean;
  readonly devices: readonly string[];
}

export function readFlowtable(message: MessageReader): DecodedFlowtable {
  let table = "";
  let name = "";
  let flags = 0;
  let hook: HookParts = { number: -1, priority: 0, devices: [] };
  const attributes = message.attributes(NFGEN_BYTES);
  while (attributes.next()) {
    if (attributes.type === NFTA_FLOWTABLE.TABLE) table = attributes.string();
    else if (attributes.type === NFTA_FLOWTABLE.NAME) name = attributes.string();
    else if (attributes.type === NFTA_FLOWTABLE.FLAGS) flags = attributes.u32be();
    else if (attributes.type === NFTA_FLOWTABLE.HOOK) hook = readHook(attributes.nested());
  }
  const isOwnKind = hook.number === INGRESS && hook.priority === PRIORITY && flags === NFT_FLOWTABLE_COUNTER;
  return { table, name, isOwnKind, devices: hook.devices };
}

interface HookParts {
  readonly number: number;
  readonly priority: number;
  readonly devices: readonly string[];
}

function readHook(attributes: AttributeReader): HookParts {
  let number = -1;
  let priority = 0;
  const devices: string[] = [];
  while (attributes.next()) {
    if (attributes.type === NFTA_FLOWTABLE_HOOK.NUM) number = attributes.u32be();
    else if (attributes.type === NFTA_FLOWTABLE_HOOK.PRIORITY) priority = attributes.u32be() | 0;
    else if (attributes.type === NFTA_FLOWTABLE_HOOK.DEVS) {
      const names = attributes.nested();
      while (names.next()) if (names.type === NFTA_DEVICE_NAME) devices.push(names.string());
    }
  }
  return { number, priority, devices };
}
