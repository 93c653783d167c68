import type { DataplaneHostEndpoint, TierInfo, ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { DesiredTables } from "../desired/tables.ts";
import { hostDispatch, type PacketSide } from "../render/dispatch.ts";
import { type EndpointChainInput, renderEndpointChain } from "../render/endpoint-chain.ts";
import { type Layer, layered } from "../render/layer.ts";
import { type Direction, endpointChain } from "../render/names.ts";
import { CHAIN } from "../render/topology.ts";
import { type HostEndpointMatch, matchHostEndpoints } from "./host-endpoint-match.ts";
import type { Interfaces } from "./interfaces.ts";
import { Listeners } from "./listeners.ts";
import type { Manager } from "./manager.ts";
import type { PolicyGroups } from "./policy-groups.ts";

/** One dispatch chain of host endpoints and what the chains behind it are made of. */
interface Variant {
  readonly layer: Layer;
  readonly dispatch: string;
  readonly side: PacketSide;
  readonly direction: Direction;
  readonly kind: EndpointChainInput["kind"];
  readonly names: "host" | "forward";
  /**
   * What the wildcard endpoint stands for: `nothing` (do-not-track policy: it would judge packets of workloads),
   * interfaces of the `host`, or `all`, those of workloads too. Policy of the host's own packets is not for what goes to
   * its workloads; what is judged ahead of DNAT or as forwarded traffic is so wherever it comes from and goes to.
   */
  readonly wildcard: "nothing" | "host" | "all";
  readonly tiers: (endpoint: DataplaneHostEndpoint) => readonly TierInfo[];
}

const VARIANTS: readonly Variant[] = [
  ...(
    [
      ["raw", "untracked", "nothing", (e) => e.untracked_tiers],
      ["filter", "host", "host", (e) => e.tiers],
    ] as const satisfies readonly (readonly [Layer, string, Variant["wildcard"], Variant["tiers"]])[]
  ).flatMap(([layer, kind, wildcard, tiers]): Variant[] => [
    { layer, kind, wildcard, tiers, names: "host", dispatch: CHAIN.fromHost, side: "in", direction: "ingress" },
    { layer, kind, wildcard, tiers, names: "host", dispatch: CHAIN.toHost, side: "out", direction: "egress" },
  ]),
  {
    layer: "mangle",
    kind: "pre-dnat",
    wildcard: "all",
    tiers: (e) => e.pre_dnat_tiers,
    names: "host",
    dispatch: CHAIN.fromHost,
    side: "in",
    direction: "ingress",
  },
  {
    layer: "mangle",
    kind: "host",
    wildcard: "host",
    tiers: (e) => e.tiers,
    names: "host",
    dispatch: CHAIN.toHost,
    side: "out",
    direction: "egress",
  },
  {
    layer: "filter",
    kind: "forward",
    wildcard: "all",
    tiers: (e) => e.forward_tiers,
    names: "forward",
    dispatch: CHAIN.fromHostForward,
    side: "in",
    direction: "ingress",
  },
  {
    layer: "filter",
    kind: "forward",
    wildcard: "all",
    tiers: (e) => e.forward_tiers,
    names: "forward",
    dispatch: CHAIN.toHostForward,
    side: "out",
    direction: "egress",
  },
];

/** Stands for the interface name in the chains of the wildcard endpoint. */
const ANY_INTERFACE = "any-interface-at-all";

/**
 * Host endpoints: matches them to interfaces and offers their chains and dispatch in raw, mangle and filter.
 *
 * Invariant: `#offered` holds the kernel names of exactly the endpoint chains on offer.
 */
export class HostEndpointsManager implements Manager {
  /** Called when the match changed: see {@link match}. */
  readonly onMatchChange: Listeners<HostEndpointMatch> = new Listeners();
  readonly #config: DataplaneConfig;
  readonly #tables: DesiredTables;
  readonly #interfaces: Interfaces;
  readonly #groups: PolicyGroups;
  readonly #endpoints = new Map<string, DataplaneHostEndpoint>();
  #offered = new Set<string>();
  #match: HostEndpointMatch = { byInterface: new Map(), wildcard: undefined };
  #dirty = true;

  constructor(config: DataplaneConfig, tables: DesiredTables, interfaces: Interfaces, groups: PolicyGroups) {
    this.#config = config;
    this.#tables = tables;
    this.#interfaces = interfaces;
    this.#groups = groups;
    groups.onSelectorChange.add(() => {
      if (this.#endpoints.size > 0) this.#dirty = true;
    });
    interfaces.onChange.add(() => {
      if (this.#endpoints.size > 0) this.#dirty = true;
    });
  }

  /** Which endpoint rules which interface, since the last `completeDeferredWork`. */
  get match(): HostEndpointMatch {
    return this.#match;
  }

  /** True when packets that come in by the interface are judged one by one, whatever flow they belong to. */
  hasUntrackedPolicy(interfaceName: string): boolean {
    const endpoint = this.#endpoints.get(this.#match.byInterface.get(interfaceName) ?? "");
    return endpoint !== undefined && endpoint.untracked_tiers.length > 0;
  }

  ids(): Iterable<string> {
    return this.#endpoints.keys();
  }

  onUpdate(message: ToDataplane): void {
    if (message.msg === "HostEndpointUpdate") {
      this.#endpoints.set(message.id, message.endpoint);
      this.#dirty = true;
    } else if (message.msg === "HostEndpointRemove") this.#dirty = this.#endpoints.delete(message.id) || this.#dirty;
  }

  completeDeferredWork(): void {
    if (!this.#dirty) return;
    this.#dirty = false;
    this.#match = matchHostEndpoints(this.#endpoints, this.#interfaces.all());
    const before = this.#offered;
    this.#offered = new Set();
    for (const variant of VARIANTS) this.#offerVariant(variant);
    for (const name of before)
      if (!this.#offered.has(name)) {
        this.#groups.use(name, "filter", "ingress", []);
        for (const table of this.#tables.values()) table.withdrawChain(name);
      }
    this.onMatchChange.notify(this.#match);
  }

  #offerVariant(variant: Variant): void {
    const chains = new Map<string, string>();
    for (const [name, id] of this.#match.byInterface) chains.set(name, this.#offerEndpoint(variant, name, id));
    const { wildcard } = this.#match;
    const { layer, dispatch: name, side } = variant;
    const others =
      variant.wildcard === "nothing" || wildcard === undefined
        ? undefined
        : {
            chain: this.#offerEndpoint(variant, ANY_INTERFACE, wildcard),
            judgesWorkloads: variant.wildcard === "all",
          };
    const { chain, map } = hostDispatch(layer, name, side, chains, others, this.#config);
    for (const table of this.#tables.values()) {
      table.offerChain(chain.name, () => chain);
      table.offerMap(map);
    }
  }

  /** The name, without the layer, of the endpoint's chain. */
  #offerEndpoint(variant: Variant, interfaceName: string, id: string): string {
    const { direction, kind, layer, names } = variant;
    const name = endpointChain(names, direction, interfaceName);
    const endpoint = this.#endpoints.get(id);
    if (endpoint === undefined) return name;
    const tiers = this.#groups.group(variant.tiers(endpoint), direction);
    this.#groups.use(layered(layer, name), layer, direction, tiers);
    const chain = renderEndpointChain(
      {
        name,
        layer,
        direction,
        kind,
        adminUp: true,
        tiers,
        profiles: endpoint.profile_ids,
        ...(kind === "forward"
          ? {}
          : { failsafeChain: direction === "ingress" ? CHAIN.failsafeIn : CHAIN.failsafeOut }),
      },
      this.#config,
    );
    this.#offered.add(chain.name);
    for (const table of this.#tables.values()) table.offerChain(chain.name, () => chain);
    return name;
  }
}
