import type { IPPool } from "@bulrush/model";
import type { Encapsulation } from "@bulrush/proto";
import type { CalcGraphConfig } from "../graph/config.ts";
import type { EventSequencer } from "../sequencer/event-sequencer.ts";

/**
 * Which encapsulations the pools ask for. Silent until the datastore was in sync; then says it once, and again whenever
 * it changes.
 */
export class EncapsulationResolver {
  readonly #sequencer: EventSequencer;
  readonly #config: CalcGraphConfig;
  readonly #pools = new Map<string, IPPool>();
  #last: Encapsulation | undefined;
  #dirty = true;

  constructor(sequencer: EventSequencer, config: CalcGraphConfig) {
    this.#sequencer = sequencer;
    this.#config = config;
  }

  setPool(cidr: string, pool: IPPool | undefined): void {
    if (pool === undefined) this.#pools.delete(cidr);
    else this.#pools.set(cidr, pool);
    this.#dirty = true;
  }

  /** Only once the datastore was in sync. */
  flush(): void {
    if (!this.#dirty) return;
    this.#dirty = false;
    const message = this.#compute();
    if (this.#last !== undefined && same(this.#last, message)) return;
    this.#last = message;
    this.#sequencer.onEncapsulation(message);
  }

  #compute(): Encapsulation {
    let ipip = false;
    let vxlan = false;
    let vxlanV6 = false;
    let plain = false;
    for (const [cidr, pool] of this.#pools) {
      const usesIpip = isOn(pool.ipip_mode);
      const usesVxlan = isOn(pool.vxlan_mode);
      if (usesIpip) ipip = true;
      if (usesVxlan && cidr.includes(":")) vxlanV6 = true;
      else if (usesVxlan) vxlan = true;
      if (!usesIpip && !usesVxlan) plain = true;
    }
    const { explicitIPIPEnabled, explicitVXLANEnabled, programClusterRoutes } = this.#config;
    const programsPlain = programClusterRoutes === "Enabled" || programClusterRoutes === "EnabledNoEncapOnly";
    return {
      msg: "Encapsulation",
      ipip_enabled: explicitIPIPEnabled ?? ipip,
      vxlan_enabled: explicitVXLANEnabled ?? vxlan,
      vxlan_enabled_v6: vxlanV6,
      no_encap_needed: programsPlain && plain,
    };
  }
}

/** No mode, and a mode that is none, are off. */
function isOn(mode: string | undefined): boolean {
  const text = (mode ?? "").toLowerCase();
  return text === "always" || text === "cross-subnet" || text === "crosssubnet";
}

function same(a: Encapsulation, b: Encapsulation): boolean {
  return (
    a.ipip_enabled === b.ipip_enabled &&
    a.vxlan_enabled === b.vxlan_enabled &&
    a.vxlan_enabled_v6 === b.vxlan_enabled_v6 &&
    a.no_encap_needed === b.no_encap_needed
  );
}
