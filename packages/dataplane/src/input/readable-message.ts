import { parseAddress, parseCidr } from "@bulrush/ip";
import type { ToDataplane } from "@bulrush/proto";
import { policyWord } from "../render/names.ts";
import { readableHostEndpoint, readableWorkload } from "./readable-endpoint.ts";
import { readableHost } from "./readable-host.ts";
import { readableRules } from "./readable-rule.ts";

/** Told of each message of which something cannot be read: whose it is, and the fields in words. */
export type OnUnreadableMessage = (of: string, what: readonly string[]) => void;

/**
 * The message without what would end the dataplane, or keep the kernel from taking the rules of all others: values that
 * have the right type and mean nothing. The graph sends none that its own checks have seen; this is the last door. What is
 * left out closes, it never opens. The same object, where there is nothing of the kind, as with nearly every message.
 */
export function readableMessage(
  message: ToDataplane,
  onUnreadable: OnUnreadableMessage = () => undefined,
): ToDataplane {
  const what: string[] = [];
  const note = (field: string): void => void what.push(field);
  switch (message.msg) {
    case "ActivePolicyUpdate": {
      const { policy } = message;
      const inbound = readableRules(policy.inbound_rules, (field) => note(`inbound: ${field}`));
      const outbound = readableRules(policy.outbound_rules, (field) => note(`outbound: ${field}`));
      if (what.length === 0) return message;
      onUnreadable(`policy ${policyWord(message.id)}`, what);
      return { ...message, policy: { ...policy, inbound_rules: inbound, outbound_rules: outbound } };
    }
    case "ActiveProfileUpdate": {
      const { profile } = message;
      const inbound = readableRules(profile.inbound_rules, (field) => note(`inbound: ${field}`));
      const outbound = readableRules(profile.outbound_rules, (field) => note(`outbound: ${field}`));
      if (what.length === 0) return message;
      onUnreadable(`profile ${message.id}`, what);
      return { ...message, profile: { inbound_rules: inbound, outbound_rules: outbound } };
    }
    case "WorkloadEndpointUpdate": {
      const endpoint = readableWorkload(message.endpoint, note);
      if (what.length === 0) return message;
      const { orchestrator, workload, endpoint: name } = message.id;
      onUnreadable(`workload endpoint ${orchestrator} ${workload} ${name}`, what);
      return { ...message, endpoint };
    }
    case "HostEndpointUpdate": {
      const endpoint = readableHostEndpoint(message.endpoint, note);
      if (what.length === 0) return message;
      onUnreadable(`host endpoint ${message.id}`, what);
      return { ...message, endpoint };
    }
    case "RouteUpdate": {
      const { dst, dst_node_ip: node } = message;
      if (parseCidr(dst) === undefined) {
        onUnreadable(`route ${dst}`, ["dst"]);
        return { msg: "RouteRemove", dst };
      }
      if (node === "" || parseAddress(node) !== undefined) return message;
      onUnreadable(`route ${dst}`, ["dst_node_ip"]);
      return { ...message, dst_node_ip: "" };
    }
    case "VXLANTunnelEndpointUpdate":
    case "WireguardEndpointUpdate":
    case "WireguardEndpointV6Update":
    case "HostMetadataUpdate": {
      const read = readableHost(message, note);
      if (what.length > 0) onUnreadable(`host ${"node" in message ? message.node : message.hostname}`, what);
      return read;
    }
    default:
      return message;
  }
}
