import { createPrivateKey, createPublicKey } from "node:crypto";
import { must } from "@bulrush/base";
import { canonicalCidr } from "@bulrush/ip";
import { NetlinkError } from "../errors.ts";
import type { WireguardChange, WireguardConnection, WireguardDevice, WireguardPeer } from "../wireguard/wireguard.ts";

/** What stands ahead of the 32 bytes of an X25519 private key in PKCS #8 (RFC 8410). */
const PKCS8_HEAD = Buffer.from("302e020100300506032b656e04220420", "hex");
const NO_KEY = Buffer.alloc(32).toString("base64");

type Settings = Omit<WireguardDevice, "index" | "name">;

const FRESH: Settings = { port: 0, mark: 0, peers: [] };

/** The public key of a private one, both in base64. */
export function wireguardPublicKey(privateKey: string): string {
  const bytes = Buffer.from(privateKey, "base64");
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, bytes]), format: "der", type: "pkcs8" });
  return createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32).toString("base64");
}

/**
 * WireGuard in memory, held to the same tests as the kernel's. Which devices there are, `find` says: those of routing come
 * and go elsewhere, and a device that comes back is a new one. It sends nothing: no handshakes, no bytes.
 */
export class FakeWireguard implements WireguardConnection {
  readonly #find: (name: string) => { readonly index: number } | undefined;
  /** By index of the device. */
  readonly #settings = new Map<number, Settings>();
  /** Changes that were asked for, oldest first. */
  readonly changes: WireguardChange[] = [];
  /** The next call throws this. */
  failure: Error | undefined;

  constructor(find: (name: string) => { readonly index: number } | undefined) {
    this.#find = find;
  }

  device(name: string): WireguardDevice | undefined {
    this.#fail();
    const found = this.#find(name);
    return found === undefined ? undefined : { index: found.index, name, ...this.#of(found.index) };
  }

  change(change: WireguardChange): void {
    this.#fail();
    this.changes.push(change);
    const found = this.#find(change.name);
    if (found === undefined)
      throw new NetlinkError(`Change WireGuard device: ENODEV`, {
        code: "NETLINK_REFUSED",
        op: "Change WireGuard device",
        errno: 19,
        errnoName: "ENODEV",
      });
    this.#settings.set(found.index, applied(this.#of(found.index), change));
  }

  close(): void {}

  #of(index: number): Settings {
    return this.#settings.get(index) ?? FRESH;
  }

  #fail(): void {
    const { failure } = this;
    this.failure = undefined;
    if (failure !== undefined) throw failure;
  }
}

function applied({ privateKey, publicKey, ...before }: Settings, change: WireguardChange): Settings {
  const keys =
    change.privateKey === undefined
      ? { ...(privateKey === undefined ? {} : { privateKey }), ...(publicKey === undefined ? {} : { publicKey }) }
      : change.privateKey === NO_KEY
        ? {}
        : { privateKey: change.privateKey, publicKey: wireguardPublicKey(change.privateKey) };
  const own = "publicKey" in keys ? keys.publicKey : undefined;
  const peers = new Map((change.replacePeers === true ? [] : before.peers).map((peer) => [peer.publicKey, peer]));
  for (const asked of change.peers ?? []) {
    if (asked.remove === true) peers.delete(asked.publicKey);
    else if (asked.publicKey !== own) {
      const known: WireguardPeer = peers.get(asked.publicKey) ?? {
        publicKey: asked.publicKey,
        allowedIps: [],
        keepaliveSeconds: 0,
        lastHandshakeSeconds: 0,
        receivedBytes: 0n,
        sentBytes: 0n,
      };
      const { endpoint = known.endpoint, keepaliveSeconds = known.keepaliveSeconds } = asked;
      const allowedIps = asked.allowedIps?.map((cidr) => must(canonicalCidr(cidr), cidr)) ?? known.allowedIps;
      for (const [key, other] of peers)
        if (key !== asked.publicKey)
          peers.set(key, { ...other, allowedIps: other.allowedIps.filter((cidr) => !allowedIps.includes(cidr)) });
      peers.set(asked.publicKey, {
        ...known,
        ...(endpoint === undefined ? {} : { endpoint }),
        keepaliveSeconds,
        allowedIps,
      });
    }
  }
  if (own !== undefined) peers.delete(own);
  const { mark = before.mark, port = before.port } = change;
  return { ...keys, port, mark, peers: [...peers.values()] };
}
