import { resolveSrv } from "node:dns/promises";
import { messageOf } from "@bulrush/base";
import { DatastoreError } from "../../errors.ts";
import type { EtcdDatastoreConfig } from "../etcd-config.ts";
import { type Endpoint, readEndpoint } from "./endpoint.ts";

/** Looks SRV records up; rejects with `code` ENOTFOUND or ENODATA where there are none. */
export type ResolveSrv = (name: string) => Promise<readonly { readonly name: string; readonly port: number }[]>;

/** True where the config has something of TLS in it. */
export function hasCertificates(config: EtcdDatastoreConfig): boolean {
  const { keyFile, certFile, caFile, keyPem, certPem, caPem } = config;
  return [keyFile, certFile, caFile, keyPem, certPem, caPem].some((entry) => entry !== undefined);
}

/**
 * The endpoints of a config, as etcd's own tools find them: those listed, or those of the SRV records, the secure ones
 * first. Where there are certificates, records without TLS do not count: whoever can forge them would be sent a
 * password in the clear.
 *
 * @throws DatastoreError DATASTORE_CONNECTION_REFUSED if the records name none.
 */
export async function findEndpoints(
  config: EtcdDatastoreConfig,
  resolve: ResolveSrv = resolveSrv,
): Promise<readonly Endpoint[]> {
  const { endpoints = [], discoverySrv } = config;
  const isSecure = hasCertificates(config);
  if (discoverySrv === undefined)
    return endpoints.map((text) => readEndpoint(text, isSecure)).filter((endpoint) => endpoint !== undefined);
  const found: Endpoint[] = [];
  const errors: string[] = [];
  for (const [service, secure] of [["_etcd-client-ssl", true] as const, ["_etcd-client", false] as const]) {
    if (isSecure && !secure) continue;
    try {
      for (const { name, port } of await resolve(`${service}._tcp.${discoverySrv}`))
        found.push({ host: name.replace(/\.$/, ""), port, isSecure: secure });
    } catch (error) {
      errors.push(messageOf(error));
    }
  }
  if (found.length > 0) return found;
  throw new DatastoreError(`No SRV record of ${discoverySrv} names an etcd: ${errors.join("; ") || "none found"}`, {
    code: "DATASTORE_CONNECTION_REFUSED",
    op: "Find etcd",
    data: { domain: discoverySrv },
  });
}
