import type { MessageReader } from "../message/message-reader.ts";
import { decodeAddress } from "./address-codec.ts";
import { AF_UNSPEC, RTM } from "./constants.ts";
import { decodeLink } from "./link-codec.ts";
import { decodeNeighbour } from "./neighbour-codec.ts";
import { decodeRoute } from "./route-codec.ts";
import type { RouteEvent } from "./route-monitor.ts";

/** What a message of a multicast group says; `undefined` for what is no event of ours. */
export function decodeRouteEvent(message: MessageReader): RouteEvent | undefined {
  switch (message.type) {
    case RTM.NEWLINK:
    case RTM.DELLINK: {
      // A bridge port that leaves its bridge is told as DELLINK of AF_BRIDGE; the link itself stays.
      if (message.u8(0) !== AF_UNSPEC) return undefined;
      const link = decodeLink(message);
      return { kind: message.type === RTM.NEWLINK ? "link" : "link-gone", link };
    }
    case RTM.NEWADDR:
    case RTM.DELADDR: {
      const address = decodeAddress(message);
      if (address === undefined) return undefined;
      return { kind: message.type === RTM.NEWADDR ? "address" : "address-gone", address };
    }
    case RTM.NEWROUTE:
    case RTM.DELROUTE: {
      const route = decodeRoute(message);
      if (route === undefined) return undefined;
      return { kind: message.type === RTM.NEWROUTE ? "route" : "route-gone", route };
    }
    case RTM.NEWNEIGH:
    case RTM.DELNEIGH: {
      const neighbour = decodeNeighbour(message);
      if (neighbour === undefined) return undefined;
      return { kind: message.type === RTM.NEWNEIGH ? "neighbour" : "neighbour-gone", neighbour };
    }
    default:
      return undefined;
  }
}
