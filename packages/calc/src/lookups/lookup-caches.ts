import { type Address, parseAddress } from "@bulrush/ip";
import type { ServiceResource, Update } from "@bulrush/model";
import { Dispatcher } from "../graph/dispatcher.ts";
import type { CalcMessage } from "../graph/message.ts";
import { EndpointLookup, type FoundEndpoint } from "./endpoint-lookup.ts";
import { type FoundNetworkSet, NetworkSetLookup } from "./network-set-lookup.ts";
import { RuleLookup } from "./rule-lookup.ts";
import type { RuleHit } from "./rule-prefix.ts";
import { type FoundService, ServiceLookup } from "./service-lookup.ts";

/** How much is known, for metrics. */
export interface LookupCounts {
  readonly endpoints: number;
  readonly networkSets: number;
  readonly services: number;
  /** Policies and profiles. */
  readonly policies: number;
}

/**
 * What flow logs ask: who has an address, which network set or service it belongs to, which rule a log line is of. It
 * stands beside a graph: give it the graph's updates and messages. Flows are told of after they were, so an endpoint that
 * has gone is known for ten seconds more.
 */
export class LookupCaches {
  readonly #dispatcher = new Dispatcher();
  readonly #endpoints = new EndpointLookup();
  readonly #networkSets = new NetworkSetLookup();
  readonly #services = new ServiceLookup();
  readonly #rules = new RuleLookup();
  #nowMs = 0;

  constructor() {
    this.#dispatcher.on("WorkloadEndpoint", (key, value, path) => this.#setEndpoint(path, value && { key, value }));
    this.#dispatcher.on("HostEndpoint", (key, value, path) => this.#setEndpoint(path, value && { key, value }));
    this.#dispatcher.on("NetworkSet", (key, value) => this.#networkSets.set(key.name, value));
    this.#dispatcher.on("Resource", ({ kind, namespace, name }, value) => {
      if (kind === "KubernetesService") this.#services.set(namespace, name, value as ServiceResource | undefined);
    });
  }

  get counts(): LookupCounts {
    return {
      endpoints: this.#endpoints.count,
      networkSets: this.#networkSets.count,
      services: this.#services.count,
      policies: this.#rules.count,
    };
  }

  /** `nowMs`: a clock that never goes back. */
  onUpdates(updates: readonly Update[], nowMs: number): void {
    this.#nowMs = nowMs;
    for (const update of updates) this.#dispatcher.dispatch(update);
  }

  /** A message of the graph. */
  onMessage(message: CalcMessage): void {
    this.#rules.onMessage(message);
  }

  /** Forgets endpoints that went ten seconds ago. Call it every second or so. */
  expire(nowMs: number): void {
    this.#endpoints.expire(nowMs);
  }

  /** The endpoint with the address: the latest to get it, or to have had it. */
  endpoint(address: string): FoundEndpoint | undefined {
    return withAddress(address, (read) => this.#endpoints.find(read));
  }

  /** The set that speaks best of the address, for somebody in that namespace. */
  networkSet(address: string, preferredNamespace?: string): FoundNetworkSet | undefined {
    return withAddress(address, (read) => this.#networkSets.find(read, preferredNamespace));
  }

  /** `protocol`: a name in lower case. */
  service(address: string, port: number, protocol: string): FoundService | undefined {
    return withAddress(address, (read) => this.#services.find(read, port, protocol));
  }

  /** By the port of every node; `protocol` as in `service`. */
  serviceOfNodePort(port: number, protocol: string): FoundService | undefined {
    return this.#services.findNodePort(port, protocol);
  }

  /** By the prefix of a log line: see rulePrefix. */
  rule(prefix: string): RuleHit | undefined {
    return this.#rules.find(prefix);
  }

  #setEndpoint(path: string, endpoint: FoundEndpoint | undefined): void {
    if (endpoint === undefined) this.#endpoints.remove(path, this.#nowMs);
    else this.#endpoints.set(path, endpoint, this.#nowMs);
  }
}

function withAddress<T>(text: string, find: (address: Address) => T | undefined): T | undefined {
  const address = parseAddress(text);
  return address === undefined ? undefined : find(address);
}
