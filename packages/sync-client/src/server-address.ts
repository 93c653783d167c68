import { SyncClientError } from "./errors.ts";

/** Where a server listens. */
export interface ServerAddress {
  /** An IPv4 or IPv6 address (without brackets), or a name that resolves. */
  readonly host: string;
  readonly port: number;
  /** The node that it runs on, where known. Servers of the client's own node are tried first. */
  readonly nodeName?: string;
}

const PATTERN = /^(?:\[([0-9A-Fa-f:.]+)\]|([^[\]:/\s]+)):(\d{1,5})$/;

/** Reads `host:port`, `1.2.3.4:port` or `[::1]:port`. Throws SYNC_CLIENT_BAD_ADDRESS. */
export function parseServerAddress(text: string): ServerAddress {
  const match = PATTERN.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port < 1 || port > 65_535)
    throw new SyncClientError("SYNC_CLIENT_BAD_ADDRESS", `Server address ${JSON.stringify(text)} is not host:port`, {
      data: { address: text },
    });
  return { host, port };
}

/** `host:port`, IPv6 in brackets. Equal for equal servers. */
export function formatServerAddress({ host, port }: ServerAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
