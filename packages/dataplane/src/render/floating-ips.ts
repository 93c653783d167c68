import type { ChainState } from "@bulrush/nftables";
import { chain, commented } from "./layer.ts";
import { address, COUNTER, equals, type Family } from "./statements.ts";
import { CHAIN } from "./topology.ts";

/** An address of the outside and that of the workload that has it. */
export interface FloatingIp {
  readonly external: string;
  readonly internal: string;
}

/**
 * `cali-fip-dnat`: packets to an address of the outside go to its workload. `cali-fip-snat`: a workload that talks to
 * itself by such an address must get the answer from it, and not from its own.
 */
export function floatingIpChains(floating: readonly FloatingIp[], family: Family): ChainState[] {
  return [
    chain(
      "nat",
      CHAIN.floatingDnat,
      floating.map(({ external, internal }) =>
        commented("Floating IP", equals(address("dst", family), external), COUNTER, {
          kind: "nat",
          type: "dnat",
          address: internal,
        }),
      ),
    ),
    chain(
      "nat",
      CHAIN.floatingSnat,
      floating.map(({ external, internal }) =>
        commented(
          "Floating IP, to itself",
          equals(address("dst", family), internal),
          equals(address("src", family), internal),
          COUNTER,
          { kind: "nat", type: "snat", address: external },
        ),
      ),
    ),
  ];
}
