import { base64Url, sha224 } from "@bulrush/base";
import type { IPSetType } from "@bulrush/proto";
import { parseSelector, type Selector } from "@bulrush/selector";

/** "any" takes every port of the name, whatever its protocol. */
export type NamedPortProtocol = "tcp" | "udp" | "sctp" | "any";

/** What an IP set is made from. The id is a hash of it, so equal specs share one set. */
export type IpSetSpec = SelectorSetSpec | NamedPortSetSpec | ServiceSetSpec;

/** The addresses and networks of everything that the selector picks. */
export interface SelectorSetSpec {
  readonly kind: "selector";
  readonly id: string;
  /** Default NET. A set of bare addresses is only for workloads, which have no networks. */
  readonly type?: "IP";
  readonly selector: Selector;
}

/** The (address, protocol, port) of every port of that name on the endpoints that the selector picks. */
export interface NamedPortSetSpec {
  readonly kind: "named-port";
  readonly id: string;
  readonly selector: Selector;
  readonly protocol: NamedPortProtocol;
  readonly port: string;
}

/** The (address, protocol, port) of a service's endpoints, or (`withPorts` false) their addresses. */
export interface ServiceSetSpec {
  readonly kind: "service";
  readonly id: string;
  /** `namespace/name`. */
  readonly service: string;
  readonly withPorts: boolean;
}

/** Prefix, colon and hash of prefix and content: 38 characters of hash. */
function setId(prefix: string, content: string): string {
  return `${prefix}:${base64Url(sha224(`${prefix}:${content}`))}`;
}

export function selectorSet(selector: Selector): SelectorSetSpec {
  return { kind: "selector", id: selector.id, selector };
}

export function namedPortSet(selector: Selector, protocol: NamedPortProtocol, port: string): NamedPortSetSpec {
  return { kind: "named-port", id: setId("n", `${selector.id},${protocol},${port}`), selector, protocol, port };
}

export function serviceSet(service: string, withPorts: boolean): ServiceSetSpec {
  return { kind: "service", id: setId(withPorts ? "svc" : "svcnoport", service), service, withPorts };
}

export function ipSetType(spec: IpSetSpec): IPSetType {
  if (spec.kind === "selector") return spec.type ?? "NET";
  if (spec.kind === "named-port") return "IP_AND_PORT";
  return spec.withPorts ? "IP_AND_PORT" : "NET";
}

/** `all()`, parsed once. */
export const ALL_SELECTOR: Selector = parseSelector("");
