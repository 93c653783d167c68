import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { checkServerIdentity } from "node:tls";
import { type ChannelCredentials, credentials } from "@grpc/grpc-js";
import { messageOf } from "@bulrush/base";
import { DatastoreError } from "../../errors.ts";
import type { EtcdDatastoreConfig } from "../etcd-config.ts";

/**
 * The name that a server at a bare address is called by in the handshake: an address may not stand there (RFC 6066,
 * section 3). What its certificate must say is the address all the same.
 */
const NAME_OF_ADDRESS = "address.invalid";

/** The option of gRPC that goes with {@link readCredentials}. */
export function targetNameOf(host: string): Readonly<Record<string, string>> {
  return isIP(host) === 0 ? {} : { "grpc.ssl_target_name_override": NAME_OF_ADDRESS };
}

/**
 * TLS (1.2 or newer, as Node has it) for one new connection to `host`: the files are read now. Without a CA the
 * machine's own count.
 *
 * @throws DatastoreError DATASTORE_BAD_CONFIG, naming the file.
 */
export async function readCredentials(config: EtcdDatastoreConfig, host: string): Promise<ChannelCredentials> {
  const [ca, key, cert] = await Promise.all([
    textOf(config.caPem, config.caFile),
    textOf(config.keyPem, config.keyFile),
    textOf(config.certPem, config.certFile),
  ]);
  try {
    return credentials.createSsl(ca, key, cert, {
      checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
    });
  } catch (error) {
    throw new DatastoreError(`The certificates for etcd cannot be used: ${messageOf(error)}`, {
      code: "DATASTORE_BAD_CONFIG",
      cause: error,
    });
  }
}

async function textOf(pem: string | undefined, file: string | undefined): Promise<Buffer | null> {
  if (pem !== undefined) return Buffer.from(pem);
  if (file === undefined) return null;
  try {
    return await readFile(file);
  } catch (error) {
    throw new DatastoreError(`Cannot read ${file}: ${messageOf(error)}`, {
      code: "DATASTORE_BAD_CONFIG",
      cause: error,
      data: { file },
    });
  }
}
