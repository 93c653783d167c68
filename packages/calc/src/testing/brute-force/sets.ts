import { base64Url, sha224 } from "@bulrush/base";
import { type Cidr, cidrOf, compareCidrs, containsCidr, formatAddress, formatCidr, parseAddress } from "@bulrush/ip";
import type { EndpointSliceResource } from "@bulrush/model";
import { parseSelector } from "@bulrush/selector";
import { type Contents, resourcesOf, type View } from "./contents.ts";
import { itemsOf } from "./items.ts";
import { naiveMatch } from "./naive-selector.ts";

/** What a rule asks of an address (and port), and so which IP set it needs. */
export type SetSpec =
  | { readonly kind: "selector"; readonly selector: string }
  | { readonly kind: "named-port"; readonly selector: string; readonly protocol: string; readonly port: string }
  | { readonly kind: "service"; readonly service: string; readonly withPorts: boolean }
  | { readonly kind: "ambient" };

const AMBIENT_ID = "all-istio-weps";

function hashed(prefix: string, content: string): string {
  return `${prefix}:${base64Url(sha224(`${prefix}:${content}`))}`;
}

export function setId(spec: SetSpec): string {
  switch (spec.kind) {
    case "selector":
      return hashed("s", parseSelector(spec.selector).text);
    case "named-port":
      return hashed("n", [setId({ kind: "selector", selector: spec.selector }), spec.protocol, spec.port].join());
    case "service":
      return hashed(spec.withPorts ? "svc" : "svcnoport", spec.service);
    case "ambient":
      return AMBIENT_ID;
  }
}

/** A set as the dataplane must have it. */
export interface ExpectedSet {
  readonly type: string;
  /** Sorted. */
  readonly members: readonly string[];
}

export function expectedSet(view: View, spec: SetSpec): ExpectedSet {
  switch (spec.kind) {
    case "selector":
      return { type: "NET", members: netMembers(view, netsOf(view.contents, spec.selector)) };
    case "named-port":
      return { type: "IP_AND_PORT", members: sorted(portMembers(view.contents, spec)) };
    case "service":
      return spec.withPorts
        ? { type: "IP_AND_PORT", members: sorted(servicePorts(view.contents, spec.service)) }
        : { type: "NET", members: sorted(serviceNets(view.contents, spec.service)) };
    case "ambient":
      return { type: "IP", members: netMembers(view, netsOf(view.contents, AMBIENT_SELECTOR)) };
  }
}

const MODE = "istio.io/dataplane-mode";

/** Pods that are in the mesh: by themselves, or by their namespace unless they say no. */
export const AMBIENT_SELECTOR: string =
  `projectcalico.org/orchestrator == "k8s" && ` +
  `((pcns.${MODE} == "ambient" && ${MODE} != "none") || ${MODE} == "ambient")`;

/** The networks of everything that a selector finds. */
export function netsOf(contents: Contents, selector: string): Cidr[] {
  return itemsOf(contents)
    .filter((item) => naiveMatch(selector, item.labels))
    .flatMap((item) => item.nets);
}

function netMembers(view: View, nets: readonly Cidr[]): readonly string[] {
  const shown = nets.filter(
    (net) =>
      !view.config.suppressOverlaps ||
      !nets.some((other) => containsCidr(other, net) && compareCidrs(other, net) !== 0),
  );
  return sorted(shown.map(formatCidr));
}

/** `address,protocol:port` for each port of that name on what the selector finds. */
export function portMembers(contents: Contents, spec: Extract<SetSpec, { kind: "named-port" }>): string[] {
  return itemsOf(contents)
    .filter((item) => naiveMatch(spec.selector, item.labels))
    .flatMap((item) =>
      item.ports
        .filter((port) => port.name === spec.port && (spec.protocol === "any" || port.protocol === spec.protocol))
        .flatMap((port) => item.nets.map((net) => `${formatAddress(net)},${String(port.protocol)}:${port.port}`)),
    );
}

function slicesOf(contents: Contents, service: string): EndpointSliceResource[] {
  return resourcesOf(contents, "KubernetesEndpointSlice")
    .map(([, value]) => value as EndpointSliceResource)
    .filter(
      ({ metadata }) => `${metadata.namespace ?? ""}/${metadata.labels?.["kubernetes.io/service-name"]}` === service,
    );
}

function addressesOf(slice: EndpointSliceResource): Cidr[] {
  return (slice.endpoints ?? [])
    .flatMap((endpoint) => endpoint.addresses ?? [])
    .map(parseAddress)
    .filter((address) => address !== undefined)
    .map(cidrOf);
}

/** `address,protocol:port` for each address and numbered port of the service's slices, ready or not. */
export function servicePorts(contents: Contents, service: string): string[] {
  return slicesOf(contents, service).flatMap((slice) =>
    addressesOf(slice).flatMap((address) =>
      (slice.ports ?? [])
        .filter(({ port }) => port !== undefined)
        .map(({ protocol, port }) => `${formatAddress(address)},${(protocol ?? "TCP").toLowerCase()}:${port}`),
    ),
  );
}

export function serviceNets(contents: Contents, service: string): string[] {
  return slicesOf(contents, service).flatMap((slice) => addressesOf(slice).map(formatCidr));
}

/** Sorted, each once. */
function sorted(members: readonly string[]): string[] {
  return [...new Set(members)].sort();
}
