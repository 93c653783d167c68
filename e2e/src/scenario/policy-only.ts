import { convertResources } from "@bulrush/datastore";
import { formatAddress, formatCidr, cidrOf, parseAddress } from "@bulrush/ip";
import { CALICO_V3, type Resource } from "@bulrush/model";
import { openRouteConnection } from "@bulrush/netlink";
import { planLab } from "../lab/plan.ts";
import { type Expected, LoneAgent } from "./lone-agent.ts";
import { required } from "./required.ts";
import type { Scenario } from "./scenario.ts";

/** linux/rtnetlink.h and linux/neighbour.h. */
const RTPROT_KERNEL = 2;
const NUD_PERMANENT = 0x80;
/** How the interfaces of others begin: AWS' VPC CNI, and plugins that give their pairs the plain name. */
const PREFIXES = ["eni", "veth"] as const;
const PORT = 8080;
const PODS = ["server", "friend", "stranger"] as const;
type Pod = (typeof PODS)[number];
const ADDRESSES: Readonly<Record<Pod, string>> = { server: "10.9.0.10", friend: "10.9.0.11", stranger: "10.9.0.12" };
const STEPS: readonly (Pod | undefined)[] = [undefined, "friend", "stranger", undefined];
const QUICK_STEPS: readonly (Pod | undefined)[] = [undefined, "friend"];
/** A route of the other plugin that no workload explains: it must stay. */
const FOREIGN = "10.9.0.77/32";
/** Often enough to be seen if it wrote something. */
const REFRESH_SECONDS = "1";

/** Pods of a cluster with an overlay, so that there would be a lot to route. */
function world(host: string, allowed: Pod | undefined): Resource[] {
  const pods = PODS.map(
    (name): Resource => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "world", labels: { name } },
      spec: { nodeName: host, containers: [{ name: "main", ports: [{ containerPort: PORT }] }] },
      status: { phase: "Running", podIPs: [{ ip: ADDRESSES[name] }] },
    }),
  );
  const far: Resource = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "far", namespace: "world" },
    spec: { nodeName: "elsewhere", containers: [{ name: "main" }] },
    status: { phase: "Running", podIPs: [{ ip: "10.9.1.10" }] },
  };
  const nodes = [host, "elsewhere"].map(
    (name, i): Resource => ({
      apiVersion: "v1",
      kind: "Node",
      metadata: {
        name,
        annotations: {
          "projectcalico.org/IPv4Address": `192.0.2.${i + 1}/24`,
          "projectcalico.org/IPv4VXLANTunnelAddr": `10.9.${i}.1`,
        },
      },
      status: { addresses: [{ type: "InternalIP", address: `192.0.2.${i + 1}` }] },
    }),
  );
  const policy: Resource = {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "only", namespace: "world" },
    spec: {
      podSelector: { matchLabels: { name: "server" } },
      policyTypes: ["Ingress"],
      ingress: allowed === undefined ? [] : [{ from: [{ podSelector: { matchLabels: { name: allowed } } }] }],
    },
  };
  const pool: Resource = {
    apiVersion: CALICO_V3,
    kind: "IPPool",
    metadata: { name: "pool" },
    spec: { cidr: "10.9.0.0/16", vxlanMode: "Always", natOutgoing: false },
  };
  return [...nodes, { apiVersion: "v1", kind: "Namespace", metadata: { name: "world" } }, ...pods, far, pool, policy];
}

class OtherCni {
  readonly lab: LoneAgent;
  readonly #host: string;
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
    this.#host = `host-${prefix}`;
    const address = required(parseAddress("192.0.2.1"), "an address");
    this.lab = new LoneAgent([{ name: this.#host, addresses: [address] }], {
      FELIX_INTERFACEPREFIX: prefix,
      FELIX_ROUTESYNCDISABLED: "true",
      FELIX_ROUTEREFRESHINTERVAL: REFRESH_SECONDS,
      FELIX_INTERFACEREFRESHINTERVAL: REFRESH_SECONDS,
    });
  }

  /** The pods with their interfaces and routes, as the other plugin makes them. */
  plug(): void {
    const { network, prober } = this.lab;
    const resources = world(this.#host, undefined);
    const { updates } = convertResources(resources, { interfacePrefix: this.#prefix });
    const { pods } = planLab(resources, updates);
    const routes = this.#routes();
    for (const plan of pods.filter(({ host }) => host === this.#host)) {
      if (!plan.interfaceName.startsWith(this.#prefix)) throw new Error(`A pod's interface is ${plan.interfaceName}`);
      const { namespace } = network.addPod(plan);
      prober.serve(namespace, "TCP", PORT);
      const device = required(routes.link(plan.interfaceName), plan.interfaceName).index;
      for (const address of plan.addresses)
        routes.write({ kind: "replace-route", route: { destination: formatCidr(cidrOf(address)), device } });
      if (plan.name === "world/server")
        routes.write({ kind: "replace-route", route: { destination: FOREIGN, device, protocol: 4 } });
    }
    routes.close();
  }

  #routes(): ReturnType<typeof openRouteConnection> {
    const { namespace } = required(this.lab.network.host(this.#host), this.#host);
    return namespace.run(() => openRouteConnection());
  }

  /** All that a router goes by: routes of every table, permanent neighbours, rules, tunnels. */
  kernel(): string {
    const routes = this.#routes();
    try {
      return JSON.stringify({
        // The kernel's own come when an interface comes up.
        routes: routes.routes({ table: "all" }).filter(({ protocol }) => protocol !== RTPROT_KERNEL),
        neighbours: routes.neighbours().filter(({ state }) => state === NUD_PERMANENT),
        rules: [routes.rules(4), routes.rules(6)],
        links: routes.links().map(({ name, kind }) => [name, kind]),
      });
    } finally {
      routes.close();
    }
  }

  async allows(allowed: Pod | undefined): Promise<void> {
    this.lab.write(world(this.#host, allowed));
    const expected = PODS.filter((pod) => pod !== "server").map((pod): Expected => {
      const [from, to] = [pod, "server"].map((name) => required(this.lab.network.pod(`world/${name}`), name));
      const [source, target] = [required(from, pod), required(to, "server")];
      const address = required(target.plan.addresses[0], "an address");
      const what = `${pod} -> server (${formatAddress(address)})`;
      return { what, from: source.namespace, to: address, protocol: "TCP", port: PORT, connects: pod === allowed };
    });
    await this.lab.reaches(`${this.#prefix}: ${allowed ?? "nobody"} is allowed`, expected);
  }
}

export const policyOnly: Scenario = {
  name: "policy-only",
  summary: "beside other CNI plugins (eni*, veth*): policy is enforced, no route, neighbour or tunnel is written",
  async run({ quick, progress }) {
    let changes = 0;
    for (const prefix of PREFIXES) {
      const cni = new OtherCni(prefix);
      try {
        cni.plug();
        const before = cni.kernel();
        cni.lab.write([]);
        cni.lab.start();
        for (let round = 1; round <= (quick ? 1 : 10); round++) {
          for (const allowed of quick ? QUICK_STEPS : STEPS) {
            await cni.allows(allowed);
            changes++;
            if (cni.kernel() !== before)
              throw new Error(
                `${prefix}: the host's routes are not those of the CNI plugin:\n${before}\n${cni.kernel()}`,
              );
          }
        }
        progress(`${prefix}*: policy as it should be, routes as they were`);
      } finally {
        await cni.lab.stop();
      }
    }
    return { prefixes: PREFIXES.length, changes, routesWritten: 0 };
  },
};
