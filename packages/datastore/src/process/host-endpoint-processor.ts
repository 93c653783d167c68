import { formatAddress, parseAddress } from "@bulrush/ip";
import { type EndpointPort, hasPorts, type HostEndpoint, isObject, parseDscp } from "@bulrush/model";
import type { ItemIssue } from "../driver/item-issue.ts";
import { conflictCache } from "./conflict-cache.ts";
import { errorAt, warningAt } from "./issue.ts";
import { readPort, readProtocol } from "./policy/port.ts";
import { isUnreadable, type UpdateProcessor } from "./processor.ts";
import { sortedMap } from "./sorted-map.ts";

const DSCP_ANNOTATION = "qos.projectcalico.org/dscp";

/**
 * Host endpoints. Their key has the node, which is not in the name. One with an address or port that cannot be read
 * keeps its last good version, as a rule may deny by them; one that was never read well has those that can be read.
 */
export function hostEndpointProcessor(): UpdateProcessor {
  return conflictCache(({ item, value }) => {
    const spec = isObject(value?.spec) ? value.spec : {};
    const node = spec["node"];
    if (value === undefined || typeof node !== "string" || node === "")
      return [errorAt("spec.node", "A host endpoint needs a node")];
    const interfaceName = spec["interfaceName"] ?? "";
    if (typeof interfaceName !== "string")
      return [errorAt("spec.interfaceName", `Expected a name, found ${JSON.stringify(interfaceName)}`)];
    const issues: ItemIssue[] = [];
    const addresses = addressesOf(spec["expectedIPs"], issues);
    if (interfaceName === "" && addresses.length === 0)
      return [...issues, errorAt("spec.interfaceName", "Needs an interface or expectedIPs")];
    const dscp = value.metadata.annotations?.[DSCP_ANNOTATION];
    const dscpValue = dscp === undefined ? undefined : parseDscp(dscp);
    if (dscp !== undefined && dscpValue === undefined)
      issues.push(warningAt(`metadata.annotations.${DSCP_ANNOTATION}`, `Expected a DSCP, found "${dscp}"; left out`));
    const ports = portsOf(spec["ports"], issues);
    const isClosedForm = isUnreadable(issues);
    const endpoint: HostEndpoint = {
      name: interfaceName,
      expected_ipv4_addrs: addresses.filter((address) => !address.includes(":")),
      expected_ipv6_addrs: addresses.filter((address) => address.includes(":")),
      labels: sortedMap(value.metadata.labels ?? {}),
      profile_ids: profilesOf(spec["profiles"], issues),
      ...(ports.length > 0 && { ports }),
      ...(dscpValue !== undefined && { qosControls: { dscp: dscpValue } }),
    };
    return {
      key: { type: "HostEndpoint", hostname: node, endpoint: item.name },
      value: endpoint,
      issues,
      isClosedForm,
    };
  });
}

/** A name of v1. */
const NAME = /^[a-zA-Z0-9_.-]{1,128}$/;

function isName(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}

/** The entries of a list, or undefined for what is none. */
function entriesOf(value: unknown): readonly (readonly [number, unknown])[] | undefined {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? [...(value as unknown[]).entries()] : undefined;
}

function noList(value: unknown): string {
  return `Expected a list, found ${JSON.stringify(value)}`;
}

/** A profile allows: one less is no danger. */
function profilesOf(value: unknown, issues: ItemIssue[]): string[] {
  const out: string[] = [];
  const entries = entriesOf(value);
  if (entries === undefined) issues.push(warningAt("spec.profiles", `${noList(value)}; left out`));
  for (const [i, profile] of entries ?? []) {
    if (isName(profile)) out.push(profile);
    else issues.push(warningAt(`spec.profiles[${i}]`, `Expected a name, found ${JSON.stringify(profile)}; left out`));
  }
  return out;
}

function addressesOf(value: unknown, issues: ItemIssue[]): string[] {
  const out: string[] = [];
  const entries = entriesOf(value);
  if (entries === undefined) issues.push(errorAt("spec.expectedIPs", noList(value)));
  for (const [i, text] of entries ?? []) {
    const address = typeof text === "string" ? parseAddress(text) : undefined;
    if (address === undefined)
      issues.push(errorAt(`spec.expectedIPs[${i}]`, `Expected an address, found ${JSON.stringify(text)}`));
    else out.push(formatAddress(address));
  }
  return out;
}

function portsOf(value: unknown, issues: ItemIssue[]): EndpointPort[] {
  const out: EndpointPort[] = [];
  const entries = entriesOf(value);
  if (entries === undefined) issues.push(errorAt("spec.ports", noList(value)));
  for (const [i, entry] of entries ?? []) {
    const fields = isObject(entry) ? entry : {};
    const protocol = readProtocol(fields["protocol"]);
    const port = readPort(fields["port"]);
    const name = fields["name"];
    // v1 has the protocol of an endpoint's port by name only.
    if (typeof protocol !== "string" || !hasPorts(protocol) || typeof port !== "number" || !isName(name))
      issues.push(errorAt(`spec.ports[${i}]`, "Expected a name, a protocol and a port number"));
    else out.push({ name, protocol, port });
  }
  return out;
}
