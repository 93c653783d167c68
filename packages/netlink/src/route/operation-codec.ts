import { unreachable } from "@bulrush/base";
import { NLM_F } from "../message/header.ts";
import type { MessageWriter } from "../message/message-writer.ts";
import { writeAddress } from "./address-codec.ts";
import { RTM } from "./constants.ts";
import { writeRedirect } from "../tc/filter-codec.ts";
import { writeQdisc, writeQdiscSelector } from "../tc/qdisc-codec.ts";
import { writeLinkChange, writeLinkSelector, writePlainLink, writeVeth, writeVxlan } from "./link-codec.ts";
import { writeNeighbour } from "./neighbour-codec.ts";
import type { RouteOperation } from "./operation.ts";
import { writeRoute, writeRouteSelector } from "./route-codec.ts";
import { writeRule } from "./rule-codec.ts";

const ADD = NLM_F.CREATE | NLM_F.EXCL;
const REPLACE = NLM_F.CREATE | NLM_F.REPLACE;

/** Writes one operation as one request. Throws NETLINK_ARGUMENT for what cannot be encoded. */
export function writeOperation(writer: MessageWriter, seq: number, operation: RouteOperation, flags = 0): void {
  const begin = (type: number, more: number): void => writer.message(type, NLM_F.REQUEST | more | flags, seq);
  switch (operation.kind) {
    case "add-veth":
      begin(RTM.NEWLINK, ADD);
      writeVeth(writer, operation.veth);
      break;
    case "add-link":
      begin(RTM.NEWLINK, ADD);
      writePlainLink(writer, operation.plain);
      break;
    case "add-vxlan":
      begin(RTM.NEWLINK, ADD);
      writeVxlan(writer, operation.vxlan);
      break;
    case "change-link":
      begin(RTM.NEWLINK, 0);
      writeLinkChange(writer, operation.link, operation.change);
      break;
    case "delete-link":
      begin(RTM.DELLINK, 0);
      writeLinkSelector(writer, operation.link);
      break;
    case "add-address":
    case "replace-address":
      begin(RTM.NEWADDR, operation.kind === "add-address" ? ADD : REPLACE);
      writeAddress(writer, operation.address);
      break;
    case "delete-address":
      begin(RTM.DELADDR, 0);
      writeAddress(writer, operation.address);
      break;
    case "add-route":
    case "replace-route":
      begin(RTM.NEWROUTE, operation.kind === "add-route" ? ADD : REPLACE);
      writeRoute(writer, operation.route);
      break;
    case "delete-route":
      begin(RTM.DELROUTE, 0);
      writeRouteSelector(writer, operation.route);
      break;
    case "add-neighbour":
    case "replace-neighbour":
      begin(RTM.NEWNEIGH, operation.kind === "add-neighbour" ? ADD : REPLACE);
      writeNeighbour(writer, operation.neighbour);
      break;
    case "delete-neighbour":
      begin(RTM.DELNEIGH, 0);
      writeNeighbour(writer, operation.neighbour);
      break;
    case "replace-qdisc":
      begin(RTM.NEWQDISC, REPLACE);
      writeQdisc(writer, operation.qdisc);
      break;
    case "delete-qdisc":
      begin(RTM.DELQDISC, 0);
      writeQdiscSelector(writer, operation.qdisc);
      break;
    case "add-redirect":
      begin(RTM.NEWTFILTER, ADD);
      writeRedirect(writer, operation.redirect);
      break;
    case "add-rule":
      begin(RTM.NEWRULE, ADD);
      writeRule(writer, operation.rule);
      break;
    case "delete-rule":
      begin(RTM.DELRULE, 0);
      writeRule(writer, operation.rule);
      break;
    default:
      unreachable(operation);
  }
  writer.endMessage();
}

/** The operation in a few words, for messages: "Replace route 10.0.0.1/32". */
export function describeRouteOperation(operation: RouteOperation): string {
  const [verb = "", noun = ""] = operation.kind.split("-");
  const what = `${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${noun}`;
  switch (operation.kind) {
    case "add-veth":
      return `${what} ${operation.veth.name}`;
    case "add-link":
      return `${what} ${operation.plain.name}`;
    case "add-vxlan":
      return `${what} ${operation.vxlan.name}`;
    case "change-link":
    case "delete-link":
      return `${what} ${operation.link}`;
    case "add-address":
    case "replace-address":
    case "delete-address":
      return `${what} ${operation.address.address}`;
    case "add-route":
    case "replace-route":
    case "delete-route":
      return `${what} ${operation.route.destination}`;
    case "add-neighbour":
    case "replace-neighbour":
    case "delete-neighbour":
      return `${what} ${operation.neighbour.address ?? operation.neighbour.mac ?? ""}`;
    case "replace-qdisc":
    case "delete-qdisc":
      return `${what} ${operation.qdisc.kind} of interface ${operation.qdisc.device}`;
    case "add-redirect":
      return `${what} of interface ${operation.redirect.device}`;
    case "add-rule":
    case "delete-rule":
      return `${what} ${operation.rule.priority}`;
  }
}
