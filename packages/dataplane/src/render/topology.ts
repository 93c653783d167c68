/** Facts about the host and its neighbours that decide which of the fixed chains are there. */
export interface Topology {
  /** At least one host endpoint is bound to an interface. Without one, mangle and the output hooks are not needed. */
  readonly hostEndpoints: boolean;
  /** At least one workload is down by its owner's wish. */
  readonly adminDown: boolean;
  /** At least one workload has a packet rate. */
  readonly packetRates: boolean;
  /** Service addresses by which no packet may leave in a loop, in both families. */
  readonly serviceCidrs: readonly string[];
  /** There are IPIP pools. */
  readonly ipip: boolean;
  /** The family has VXLAN pools. */
  readonly vxlan: { readonly 4: boolean; readonly 6: boolean };
  /** This host has an address in the tunnel of IPIP. */
  readonly ipipAddress: boolean;
  /** This host has an address in the family's VXLAN tunnel. */
  readonly tunnelAddress: { readonly 4: boolean; readonly 6: boolean };
  /** An endpoint of this host has a DSCP for its packets of the family. */
  readonly dscp: { readonly 4: boolean; readonly 6: boolean };
  /** Pods take part in an ambient mesh. */
  readonly ambient: boolean;
  /** A workload of this host has a floating address of the family. */
  readonly floatingIps: { readonly 4: boolean; readonly 6: boolean };
  /** A pool of the family wants its workloads hidden behind their host. */
  readonly masquerade: { readonly 4: boolean; readonly 6: boolean };
}

export const EMPTY_TOPOLOGY: Topology = {
  hostEndpoints: false,
  adminDown: false,
  packetRates: false,
  serviceCidrs: [],
  ipip: false,
  ipipAddress: false,
  vxlan: { 4: false, 6: false },
  tunnelAddress: { 4: false, 6: false },
  dscp: { 4: false, 6: false },
  ambient: false,
  floatingIps: { 4: false, 6: false },
  masquerade: { 4: false, 6: false },
};

/**
 * Chains that every packet of a hook passes, by name without the layer. Dispatch chains lead on to the endpoint of the
 * packet's interface.
 */
export const CHAIN = {
  prerouting: "cali-PREROUTING",
  input: "cali-INPUT",
  forward: "cali-FORWARD",
  output: "cali-OUTPUT",
  postrouting: "cali-POSTROUTING",
  rpfSkip: "cali-rpf-skip",
  wireguardIncoming: "cali-wireguard-incoming-mark",
  workloadToHost: "cali-wl-to-host",
  fromWorkload: "cali-from-wl-dispatch",
  toWorkload: "cali-to-wl-dispatch",
  accepted: "cali-accepted",
  passed: "cali-passed",
  egressDscp: "cali-egress-dscp",
  floatingDnat: "cali-fip-dnat",
  floatingSnat: "cali-fip-snat",
  adminDown: "cali-admin-down",
  packetRate: "cali-packet-rate",
  fromHost: "cali-from-host-endpoint",
  toHost: "cali-to-host-endpoint",
  fromHostForward: "cali-from-hep-forward",
  toHostForward: "cali-to-hep-forward",
  cidrBlock: "cali-cidr-block",
  failsafeIn: "cali-failsafe-in",
  failsafeOut: "cali-failsafe-out",
} as const;
