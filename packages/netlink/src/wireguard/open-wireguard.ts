import { hasErrno } from "../errors.ts";
import { decodeFamilyId, GENL_ID_CTRL, writeFamilyRequest } from "../generic/generic-codec.ts";
import { NETLINK_GENERIC } from "../message/header.ts";
import { NetlinkSocket, type NetlinkSocketOptions } from "../socket/netlink-socket.ts";
import type { WireguardChange, WireguardConnection, WireguardDevice, WireguardPeerChange } from "./wireguard.ts";
import { decodeDevice, joinDevices, WG_GENL_NAME, writeDeviceChange, writeDeviceRequest } from "./wireguard-codec.ts";

/** What the networks of one message may take: the length of the list of peers has 16 bits. */
const NETWORKS_A_MESSAGE = 1000;
/** A peer without its networks counts as so many of them. */
const PEER_NETWORKS = 3;

/**
 * Opens WireGuard of a network namespace; `undefined` where the kernel has none. The caller closes it. Throws
 * NETLINK_SYSCALL.
 */
export function openWireguard(options: Pick<NetlinkSocketOptions, "namespace"> = {}): WireguardConnection | undefined {
  const socket = NetlinkSocket.open(NETLINK_GENERIC, options);
  const family = findFamily(socket, WG_GENL_NAME);
  if (family === undefined) {
    socket.close();
    return undefined;
  }
  return {
    device(name): WireguardDevice | undefined {
      try {
        return joinDevices(
          socket.dump("Get WireGuard device", family, (writer) => writeDeviceRequest(writer, name), decodeDevice),
        );
      } catch (error) {
        if (hasErrno(error, "ENODEV", "EOPNOTSUPP")) return undefined;
        throw error;
      }
    },
    change(change) {
      for (const part of inMessages(change))
        socket.request("Change WireGuard device", family, 0, (writer) => writeDeviceChange(writer, part));
    },
    close: () => socket.close(),
  };
}

function findFamily(socket: NetlinkSocket, name: string): number | undefined {
  let id: number | undefined;
  try {
    socket.request(
      "Find netlink family",
      GENL_ID_CTRL,
      0,
      (writer) => writeFamilyRequest(writer, name),
      (message) => {
        if (message.type === GENL_ID_CTRL) id = decodeFamilyId(message) ?? id;
      },
    );
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return undefined;
    throw error;
  }
  return id;
}

/** The change in pieces that fit into a message each; what is said of the device itself goes with the first. */
export function* inMessages({ peers = [], ...device }: WireguardChange): Generator<WireguardChange> {
  let part: WireguardPeerChange[] = [];
  let count = 0;
  let head: WireguardChange = device;
  for (const peer of peers) {
    const size = PEER_NETWORKS + (peer.remove === true ? 0 : (peer.allowedIps?.length ?? 0));
    if (part.length > 0 && count + size > NETWORKS_A_MESSAGE) {
      yield { ...head, peers: part };
      head = { name: device.name };
      [part, count] = [[], 0];
    }
    part.push(peer);
    count += size;
  }
  yield { ...head, ...(part.length === 0 ? {} : { peers: part }) };
}
