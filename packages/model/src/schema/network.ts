import { net, portNumber, selector } from "./common.ts";
import { boolean, integer, listOf, object, type ObjectShape, oneOf, type Rule, setOf, text } from "./shape.ts";

const MODES = ["Always", "CrossSubnet", "Never"] as const;
const USES = ["Workload", "Tunnel", "LoadBalancer"] as const;

const V6 = "self.cidr.contains(':')";
const IN_USE = (name: string): string => `(has(self.${name}) && self.${name} != 'Never' && self.${name} != '')`;
/** Balancers only: what the rules after it ask for. */
const BALANCES = "has(self.allowedUses) && 'LoadBalancer' in self.allowedUses";
const SIZE = `(has(self.blockSize) ? self.blockSize : (${V6} ? 122 : 26))`;

const POOL_RULES: readonly Rule[] = [
  { cel: "isCIDR(self.cidr) && cidr(self.cidr).masked() == cidr(self.cidr)", message: "cidr has host bits" },
  {
    cel: `!isCIDR(self.cidr) || (${V6} ? !cidr('fe80::/10').containsCIDR(self.cidr) : !cidr('169.254.0.0/16').containsCIDR(self.cidr))`,
    message: "cidr is link-local",
  },
  {
    cel: `!has(self.blockSize) || (${V6} ? self.blockSize >= 116 && self.blockSize <= 128 : self.blockSize >= 20 && self.blockSize <= 32)`,
    message: "blockSize is from 20 to 32 for IPv4 and from 116 to 128 for IPv6",
  },
  {
    cel: `!isCIDR(self.cidr) || cidr(self.cidr).prefixLength() <= ${SIZE}`,
    message: "cidr is smaller than one block",
  },
  { cel: `!(${IN_USE("ipipMode")} && ${IN_USE("vxlanMode")})`, message: "ipipMode and vxlanMode exclude each other" },
  { cel: `!(${V6} && ${IN_USE("ipipMode")})`, message: "IPIP needs an IPv4 pool" },
  { cel: `!(${BALANCES}) || size(self.allowedUses) == 1`, message: "LoadBalancer may only stand alone" },
  {
    cel: `!(${BALANCES}) || !(${IN_USE("ipipMode")} || ${IN_USE("vxlanMode")})`,
    message: "a LoadBalancer pool has no encapsulation",
  },
  {
    cel: `!(${BALANCES}) || !(has(self.disableBGPExport) && self.disableBGPExport)`,
    message: "a LoadBalancer pool is exported",
  },
  {
    cel: `!(${BALANCES}) || !has(self.nodeSelector) || self.nodeSelector in ['', 'all()']`,
    message: "a LoadBalancer pool is for all nodes",
  },
  { cel: "self.cidr == oldSelf.cidr", message: "cidr cannot be changed" },
  {
    cel: "!has(oldSelf.blockSize) || (has(self.blockSize) && self.blockSize == oldSelf.blockSize)",
    message: "blockSize cannot be changed",
  },
];

export const ipPoolSpec: ObjectShape = object(
  {
    cidr: text({ formats: ["cidr"], maxLength: 43, about: "The addresses of the pool." }),
    ipipMode: oneOf([...MODES, ""], { default: "Never" }),
    vxlanMode: oneOf([...MODES, ""], { default: "Never" }),
    natOutgoing: boolean({ about: "Traffic to what is in no pool leaves with the address of the host." }),
    disabled: boolean({ about: "No more addresses are assigned." }),
    disableBGPExport: boolean(),
    blockSize: integer(20, 128, { about: "Prefix length of a block. Default: 26, and 122 for IPv6." }),
    nodeSelector: text({ default: "all()", about: "The nodes that take addresses from the pool." }),
    namespaceSelector: selector(),
    allowedUses: setOf(oneOf(USES), { maxItems: 3, default: ["Workload", "Tunnel"] }),
    assignmentMode: oneOf(["Automatic", "Manual"], { default: "Automatic" }),
  },
  { required: ["cidr"], rules: POOL_RULES },
);

export const ipReservationSpec: ObjectShape = object({
  reservedCIDRs: listOf(net, { about: "Addresses that are never assigned automatically." }),
});

/** Of a namespaced set and a global one. */
export const networkSetSpec: ObjectShape = object({ nets: listOf(net, { about: "The members of the set." }) });

export const hostEndpointSpec: ObjectShape = object(
  {
    node: text({ minLength: 1, about: "The node that has the interface." }),
    interfaceName: text({ pattern: "^(\\*|[a-zA-Z0-9_.-]{1,15}|)$", about: 'An interface, or "*" for all.' }),
    expectedIPs: listOf(text({ formats: ["ipv4", "ipv6"] }), {
      about: "Addresses of the interface, where it has no name here.",
    }),
    profiles: listOf(text()),
    ports: listOf(
      object(
        { name: text(), protocol: { type: "integer-or-text" }, port: portNumber },
        { required: ["name", "protocol", "port"] },
      ),
    ),
  },
  {
    required: ["node"],
    rules: [
      {
        cel: "(has(self.interfaceName) && self.interfaceName != '') || (has(self.expectedIPs) && size(self.expectedIPs) > 0)",
        message: "expected an interface or expectedIPs",
      },
    ],
  },
);
