import { isIP } from "node:net";
import { lookup } from "node:dns/promises";
import { parseServerAddress } from "../server-address.ts";
import type { ServerSource } from "../server-source.ts";

/** Looks a name up: its addresses, in any order. Rejects if there is none. */
export type LookUp = (name: string) => Promise<readonly string[]>;

const systemLookUp: LookUp = async (name) => (await lookup(name, { all: true })).map(({ address }) => address);

/**
 * The servers at `host:port`. A name is looked up before each choice, and each of its addresses is a server: a name that
 * stands for several can be told apart, tried one after the other, and left for another.
 *
 * @throws SyncClientError SYNC_CLIENT_BAD_ADDRESS.
 */
export function addressServers(text: string, lookUp: LookUp = systemLookUp): ServerSource {
  const { host, port } = parseServerAddress(text);
  if (isIP(host) !== 0) return { list: () => Promise.resolve([{ host, port }]) };
  return {
    async list() {
      const addresses = await lookUp(host);
      return [...new Set(addresses)].map((address) => ({ host: address, port }));
    },
  };
}
