import { formatAddress, parseAddress } from "@bulrush/ip";
import { type EndpointPort, type HostEndpoint, isObject } from "@bulrush/model";
import type { ItemIssue } from "../driver/item-issue.ts";
import { parseDscp } from "../kubernetes/dscp.ts";
import { conflictCache } from "./conflict-cache.ts";
import { errorAt, warningAt } from "./issue.ts";
import { isNumericPort, readPort, readProtocol } from "./policy/port.ts";
import type { UpdateProcessor } from "./processor.ts";
import { sortedMap } from "./sorted-map.ts";

const DSCP_ANNOTATION = "qos.projectcalico.org/dscp";

/** Host endpoints. Their key has the node, which is not in the name. */
export function hostEndpointProcessor(): UpdateProcessor {
  return conflictCache(({ item, value }) => {
    const spec = isObject(value?.spec) ? value.spec : {};
    const node = spec["node"];
    if (value === undefined || typeof node !== "string" || node === "")
      return [errorAt("spec.node", "A host endpoint needs a node")];
    const issues: ItemIssue[] = [];
    const addresses = addressesOf(spec["expectedIPs"], issues);
    const dscp = value.metadata.annotations?.[DSCP_ANNOTATION];
    const dscpValue = dscp === undefined ? undefined : parseDscp(dscp);
    if (dscp !== undefined && dscpValue === undefined)
      issues.push(warningAt(`metadata.annotations.${DSCP_ANNOTATION}`, `Expected a DSCP, found "${dscp}"; left out`));
    const ports = portsOf(spec["ports"], issues);
    const endpoint: HostEndpoint = {
      name: typeof spec["interfaceName"] === "string" ? spec["interfaceName"] : "",
      expected_ipv4_addrs: addresses.filter((address) => !address.includes(":")),
      expected_ipv6_addrs: addresses.filter((address) => address.includes(":")),
      labels: sortedMap(value.metadata.labels ?? {}),
      profile_ids: stringsOf(spec["profiles"]),
      ...(ports.length > 0 && { ports }),
      ...(dscpValue !== undefined && { qosControls: { dscp: dscpValue } }),
    };
    return { key: { type: "HostEndpoint", hostname: node, endpoint: item.name }, value: endpoint, issues };
  });
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

function addressesOf(value: unknown, issues: ItemIssue[]): string[] {
  const out: string[] = [];
  for (const [i, text] of (Array.isArray(value) ? (value as unknown[]) : []).entries()) {
    const address = typeof text === "string" ? parseAddress(text) : undefined;
    if (address === undefined)
      issues.push(warningAt(`spec.expectedIPs[${i}]`, `Expected an address, found ${JSON.stringify(text)}; left out`));
    else out.push(formatAddress(address));
  }
  return out;
}

function portsOf(value: unknown, issues: ItemIssue[]): EndpointPort[] {
  const out: EndpointPort[] = [];
  for (const [i, entry] of (Array.isArray(value) ? (value as unknown[]) : []).entries()) {
    const fields = isObject(entry) ? entry : {};
    const protocol = readProtocol(fields["protocol"]);
    const port = readPort(fields["port"]);
    const name = fields["name"];
    if (protocol === undefined || port === undefined || !isNumericPort(port) || typeof name !== "string" || name === "")
      issues.push(warningAt(`spec.ports[${i}]`, "Expected a name, a protocol and a port number; left out"));
    else out.push({ name, protocol, port: Number(port) });
  }
  return out;
}
