import { allow, knp, np, pool, set, type LintRow } from "./manifests.ts";

/** Addresses and networks. */
export const NETWORK_ROWS: readonly LintRow[] = [
  ["a set has a network with host bits", "unmasked-network", [set(["10.0.0.0/8", "10.1.2.3/16"])], "spec.nets[1]"],
  [
    "a block of Kubernetes has host bits",
    "unmasked-network",
    [knp({ podSelector: {}, policyTypes: ["Egress"], egress: [{ to: [{ ipBlock: { cidr: "10.1.2.3/16" } }] }] })],
    "spec.egress[0].to[0].ipBlock.cidr",
  ],
  [
    "an except has host bits",
    "unmasked-network",
    [
      knp({
        podSelector: {},
        policyTypes: ["Egress"],
        egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.2.3/16"] } }] }],
      }),
    ],
    "spec.egress[0].to[0].ipBlock.except[0]",
  ],
  [
    "networks are masked, addresses whole",
    "unmasked-network",
    [set(["10.1.0.0/16", "10.1.2.3/32", "10.1.2.3", "fd00::1"])],
    undefined,
  ],

  ["0.0.0.0/24", "zero-address-network", [set(["0.0.0.0/24"])], "spec.nets[0]"],
  [
    "0.0.0.0/16 in a rule",
    "zero-address-network",
    [np("p", { egress: [{ ...allow, destination: { nets: ["0.0.0.0/16"] } }] })],
    "spec.egress[0].destination.nets[0]",
  ],
  ["::/48", "zero-address-network", [set(["::/48"])], "spec.nets[0]"],
  [
    "everything, halves and what is reserved",
    "zero-address-network",
    [set(["0.0.0.0/0", "0.0.0.0/1", "0.0.0.0/8", "0.0.0.0/32", "::/0", "::/1", "::/128", "0.0.1.0/24"])],
    undefined,
  ],

  [
    "what is excepted is elsewhere",
    "except-outside",
    [
      np("p", {
        egress: [{ ...allow, destination: { nets: ["10.0.0.0/8"], notNets: ["10.1.0.0/16", "192.168.0.0/16"] } }],
      }),
    ],
    "spec.egress[0].destination.notNets[1]",
  ],
  [
    "what is excepted is inside",
    "except-outside",
    [
      np("p", {
        egress: [{ ...allow, destination: { nets: ["10.0.0.0/8", "192.168.0.0/16"], notNets: ["192.168.1.0/24"] } }],
      }),
    ],
    undefined,
  ],
  [
    "nothing else narrows it",
    "except-outside",
    [np("p", { egress: [{ ...allow, destination: { notNets: ["10.0.0.0/8"] } }] })],
    undefined,
  ],

  ["a pool is part of another", "overlapping-pools", [pool("b", "10.1.0.0/16"), pool("a", "10.0.0.0/8")], "spec.cidr"],
  ["two pools are one", "overlapping-pools", [pool("a", "fd00::/48"), pool("b", "fd00::/48")], "spec.cidr"],
  [
    "pools lie beside one another",
    "overlapping-pools",
    [pool("a", "10.0.0.0/16"), pool("b", "10.1.0.0/16"), pool("c", "fd00::/48"), pool("d", "0.0.0.0/26")],
    undefined,
  ],
];
