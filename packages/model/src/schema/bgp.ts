import { asNumber, duration, password, selector, switched } from "./common.ts";
import {
  boolean,
  integer,
  listOf,
  object,
  type ObjectShape,
  oneOf,
  type Rule,
  setOf,
  type Shape,
  text,
} from "./shape.ts";

const CIDR = text({ formats: ["cidr"] });
const blocks = listOf(object({ cidr: CIDR }));
const COMMUNITY = "[0-9]{1,10}:[0-9]{1,10}(:[0-9]{1,10})?";
const community = text({ pattern: `^${COMMUNITY}$` });

export const bgpConfigurationSpec: ObjectShape = object({
  logSeverityScreen: text(),
  nodeToNodeMeshEnabled: boolean(),
  asNumber,
  serviceLoadBalancerAggregation: switched,
  serviceLoadBalancerIPs: blocks,
  serviceExternalIPs: blocks,
  serviceClusterIPs: blocks,
  communities: listOf(object({ name: text(), value: community })),
  prefixAdvertisements: listOf(object({ cidr: CIDR, communities: listOf(text()) })),
  listenPort: integer(1, 65_535),
  nodeMeshPassword: password,
  nodeMeshMaxRestartTime: duration,
  bindMode: oneOf(["None", "NodeIP"]),
  ignoredInterfaces: listOf(text()),
  localWorkloadPeeringIPV4: text({ formats: ["ipv4"] }),
  localWorkloadPeeringIPV6: text({ formats: ["ipv6"] }),
});

const isSet = (name: string): string => `(has(self.${name}) && self.${name} != '')`;
const hasAsNumber = "(has(self.asNumber) && self.asNumber != 0)";
const PORT = "[0-9]{1,5}$";

const PEER_RULES: readonly Rule[] = [
  { cel: `!(${isSet("node")} && ${isSet("nodeSelector")})`, message: "node and nodeSelector exclude each other" },
  { cel: `!(${isSet("peerSelector")} && ${isSet("peerIP")})`, message: "peerSelector and peerIP exclude each other" },
  { cel: `!(${isSet("peerSelector")} && ${hasAsNumber})`, message: "peerSelector and asNumber exclude each other" },
  { cel: `!${isSet("localWorkloadSelector")} || ${hasAsNumber}`, message: "localWorkloadSelector needs asNumber" },
  {
    cel: `!${isSet("reachableBy")} || !${isSet("peerIP")} || self.reachableBy.contains(':') == (self.peerIP.contains('[') || self.peerIP.indexOf(':') != self.peerIP.lastIndexOf(':'))`,
    message: "reachableBy and peerIP are of one family",
  },
];

/** An address by itself, `IPv4:port` or `[IPv6]:port`. */
const PEER_ADDRESS: Rule = {
  cel: `self == '' || isIP(self) || (self.matches('^([0-9.]+|\\\\[[^\\\\]]+\\\\]):${PORT}') && isIP(self.substring(0, self.lastIndexOf(':')).replace('[', '').replace(']', '')) && ip(self.substring(0, self.lastIndexOf(':')).replace('[', '').replace(']', '')).family() == (self.startsWith('[') ? 6 : 4) && int(self.substring(self.lastIndexOf(':') + 1)) >= 1 && int(self.substring(self.lastIndexOf(':') + 1)) <= 65535)`,
  message: "expected an address, IPv4:port or [IPv6]:port",
};

export const bgpPeerSpec: ObjectShape = object(
  {
    node: text({ about: "The node that has this peer. Default: all nodes." }),
    nodeSelector: selector(),
    peerIP: text({ maxLength: 64, rules: [PEER_ADDRESS] }),
    asNumber,
    peerSelector: selector(),
    localWorkloadSelector: selector(),
    keepOriginalNextHop: boolean(),
    nextHopMode: oneOf(["Auto", "Self", "Keep"]),
    password,
    sourceAddress: oneOf(["UseNodeIP", "None", ""]),
    maxRestartTime: duration,
    numAllowedLocalASNumbers: integer(),
    ttlSecurity: integer(0, 255),
    reachableBy: text({ maxLength: 45, pattern: "^[0-9A-Fa-f.:]*$" }),
    filters: listOf(text()),
    reversePeering: oneOf(["Auto", "Manual"]),
    localASNumber: asNumber,
  },
  { rules: PEER_RULES },
);

function filterRule(family: 4 | 6): Shape {
  const bits = family === 4 ? 32 : 128;
  return object(
    {
      cidr: text({ formats: ["cidr"] }),
      prefixLength: object({ min: integer(0, bits), max: integer(0, bits) }),
      source: oneOf(["RemotePeers", ""]),
      interface: text(),
      matchOperator: oneOf(["Equal", "NotEqual", "In", "NotIn", ""]),
      peerType: oneOf(["eBGP", "iBGP", ""]),
      communities: object({ values: listOf(community) }),
      asPathPrefix: listOf(asNumber),
      priority: integer(1, 2_147_483_646),
      action: oneOf(["Accept", "Reject"]),
      operations: listOf(
        object({
          addCommunity: object({ value: community }),
          prependASPath: object({ prefix: listOf(asNumber) }),
          setPriority: object({ value: integer(1, 2_147_483_646) }),
        }),
      ),
    },
    { required: ["action"] },
  );
}

export const bgpFilterSpec: ObjectShape = object({
  exportV4: listOf(filterRule(4)),
  importV4: listOf(filterRule(4)),
  exportV6: listOf(filterRule(6)),
  importV6: listOf(filterRule(6)),
});

export const nodeStatusSpec: ObjectShape = object(
  {
    node: text({ minLength: 1, maxLength: 253, about: "The node whose status is asked for." }),
    classes: setOf(oneOf(["Agent", "BGP", "Routes"]), { maxItems: 3, about: "What is asked for." }),
    updatePeriodSeconds: integer(0, 86_400, { about: "Seconds between updates; 0: once for each change." }),
  },
  { required: ["node"] },
);

const daemon = object({
  state: text(),
  version: text(),
  routerID: text(),
  lastBootTime: text(),
  lastReconfigurationTime: text(),
});
const peers = listOf(object({ peerIP: text(), type: text(), state: text(), since: text() }));
const routes = listOf(
  object({
    type: text(),
    destination: text(),
    gateway: text(),
    interface: text(),
    learnedFrom: object({ sourceType: text(), peerIP: text() }),
  }),
);

export const nodeStatusStatus: ObjectShape = object({
  lastUpdated: text({ formats: ["date-time"], nullable: true }),
  agent: object({ birdV4: daemon, birdV6: daemon }),
  bgp: object({
    numberEstablishedV4: integer(),
    numberNotEstablishedV4: integer(),
    numberEstablishedV6: integer(),
    numberNotEstablishedV6: integer(),
    peersV4: peers,
    peersV6: peers,
  }),
  routes: object({ routesV4: routes, routesV6: routes }),
});
