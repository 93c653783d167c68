import { isObject, type NodeResource } from "@bulrush/model";
import type { DatastoreWriter } from "../driver/writer.ts";
import { DatastoreError } from "../errors.ts";
import { calicoId, retried } from "./ipam-records.ts";

export interface WireguardKeyOptions {
  readonly node: string;
  readonly family: 4 | 6;
  /** In base64; "" for none. */
  readonly publicKey: string;
  readonly signal: AbortSignal;
}

const FIELD = { 4: "wireguardPublicKey", 6: "wireguardPublicKeyV6" } as const;

/**
 * Makes the status of a node say the public key of its WireGuard device. True when it had to be written; what others write
 * to the node meanwhile stays.
 *
 * @throws DatastoreError as the writer does; DATASTORE_NOT_FOUND without such a node.
 */
export async function publishWireguardKey(writer: DatastoreWriter, options: WireguardKeyOptions): Promise<boolean> {
  const { family, node: name, publicKey, signal } = options;
  const field = FIELD[family];
  const isWritten = await retried(`Node ${name}`, async () => {
    const stored = await writer.get(calicoId("Node", name), signal);
    if (stored === undefined) return undefined;
    const node = stored.resource as NodeResource;
    const { [field]: before = "", ...rest } = isObject(node.status) ? node.status : {};
    if (before === publicKey) return false;
    const status = publicKey === "" ? rest : { ...rest, [field]: publicKey };
    await writer.update({ ...node, status }, stored.revision, signal);
    return true;
  });
  if (isWritten !== undefined) return isWritten;
  throw new DatastoreError(`There is no Node ${name}`, { code: "DATASTORE_NOT_FOUND", data: { node: name } });
}
