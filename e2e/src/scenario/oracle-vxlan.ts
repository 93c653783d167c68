import { execFileSync } from "node:child_process";
import type { Resource } from "@bulrush/model";
import { loadOracleCases } from "../oracle/case.ts";
import { type OracleWire, runOracleCases, someCases } from "./oracle-kernel.ts";
import type { Scenario } from "./scenario.ts";

/** Pods' addresses as they are drop dead on the fabric; what is in a tunnel is counted. */
const FABRIC = `
table ip wire { chain c { type filter hook forward priority 0; ip saddr 10.65.0.0/16 drop; udp dport 4789 counter; }; }
table ip6 wire { chain c { type filter hook forward priority 0; ip6 saddr fd65::/16 drop; udp dport 4789 counter; }; }`;

interface PodResource extends Resource {
  readonly status: { readonly podIPs: readonly { readonly ip: string }[] };
}

/** "10.65.1.40" and "fd65:0:0:1::40". */
function secondAddress(ip: string): string {
  const [, , third, fourth] = ip.split(".");
  return `fd65:0:0:${third}::${fourth}`;
}

function adapt(resources: Resource[]): Resource[] {
  let hosts = 0;
  const adapted = resources.map((resource): Resource => {
    if (resource.kind === "Pod") {
      const { status } = resource as PodResource;
      const ips = status.podIPs.flatMap(({ ip }) => [{ ip }, { ip: secondAddress(ip) }]);
      return { ...resource, status: { ...status, podIPs: ips } } as Resource;
    }
    if (resource.kind !== "Node") return resource;
    const number = ++hosts;
    const annotations = {
      "projectcalico.org/IPv4Address": `192.0.2.${number}/24`,
      "projectcalico.org/IPv6Address": `2001:db8::${number}/64`,
      "projectcalico.org/IPv4VXLANTunnelAddr": `10.65.255.${number}`,
      "projectcalico.org/IPv6VXLANTunnelAddr": `fd65:0:0:ffff::${number}`,
    };
    const addresses = [`192.0.2.${number}`, `2001:db8::${number}`].map((address) => ({ type: "InternalIP", address }));
    return { ...resource, metadata: { ...resource.metadata, annotations }, status: { addresses } } as Resource;
  });
  const pools = [
    ["pool-v4", "10.65.0.0/16"],
    ["pool-v6", "fd65::/16"],
  ].map(
    ([name, cidr]) =>
      ({
        apiVersion: "crd.projectcalico.org/v1",
        kind: "IPPool",
        metadata: { name },
        spec: { cidr, vxlanMode: "Always", natOutgoing: false },
      }) as Resource,
  );
  return [...adapted, ...pools];
}

function nft(command: readonly string[], input = ""): string {
  return execFileSync("nft", command, { encoding: "utf8", input });
}

const VXLAN: OracleWire = {
  adapt,
  // A block of IPv4 addresses says nothing of a pod's other one.
  families: (world) => (JSON.stringify(world).includes('"ipBlock"') ? [4] : [4, 6]),
  // There are no blocks: each address is routed by itself.
  agentEnv: { FELIX_ROUTESOURCE: "WorkloadIPs" },
  prepare: () => void nft(["-f", "-"], FABRIC),
  check() {
    for (const family of ["ip", "ip6"]) {
      const [, packets] = /counter packets (\d+)/.exec(nft(["list", "table", family, "wire"])) ?? [];
      if (Number(packets ?? 0) === 0) throw new Error(`No packet went by the tunnel of ${family}`);
    }
  },
};

export const oracleVxlan: Scenario = {
  name: "oracle-vxlan",
  summary: "the oracle's cases over two hosts with VXLAN between them, IPv4 and IPv6 (--quick: some of them)",
  run: (options) => {
    const cases = loadOracleCases();
    return runOracleCases(options.quick ? someCases(cases).slice(0, 30) : cases, options, VXLAN);
  },
};
