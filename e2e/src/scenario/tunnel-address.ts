import { rmSync } from "node:fs";
import { join } from "node:path";
import { loadManifests } from "@bulrush/datastore";
import { parseAddress } from "@bulrush/ip";
import { CALICO_V3, isObject, type Resource } from "@bulrush/model";
import { openRouteConnection } from "@bulrush/netlink";
import type { HostPlan } from "../lab/plan.ts";
import { LoneAgent } from "./lone-agent.ts";
import { required } from "./required.ts";
import type { Scenario } from "./scenario.ts";

const HOSTS = ["host-a", "host-b", "host-c"] as const;
const WAIT_MS = 240_000;
const DEVICE = "vxlan.calico";
/** Between two looks. */
const POLL_MS = 50;

function plan(name: string, i: number): HostPlan {
  const address = `192.0.2.${i + 1}`;
  return { name, addresses: [required(parseAddress(address), address)] };
}

function calico(kind: string, name: string, spec: object, labels: Readonly<Record<string, string>> = {}): Resource {
  return { apiVersion: CALICO_V3, kind, metadata: { name, labels }, spec };
}

const pool = (name: string, cidr: string, more: object = {}): Resource =>
  calico("IPPool", name, { cidr, blockSize: 29, vxlanMode: "Always", natOutgoing: false, ...more });

/** What the pools are, and of which hosts the address is where. */
interface Step {
  readonly name: string;
  readonly pools: readonly Resource[];
  /** First part of the address, by host; "" for none. */
  readonly addresses: readonly [a: string, b: string, c: string];
}

const EVERYWHERE = "10.7.";
const STEPS: readonly Step[] = [
  { name: "no pool", pools: [], addresses: ["", "", ""] },
  { name: "a pool", pools: [pool("p", "10.7.0.0/24")], addresses: [EVERYWHERE, EVERYWHERE, EVERYWHERE] },
  {
    name: "a pool for some nodes",
    pools: [pool("p", "10.7.0.0/24", { nodeSelector: "zone == 'near'" })],
    addresses: [EVERYWHERE, EVERYWHERE, ""],
  },
  {
    name: "another pool in its place",
    pools: [pool("p", "10.7.0.0/24", { disabled: true }), pool("q", "10.8.0.0/24")],
    addresses: ["10.8.", "10.8.", "10.8."],
  },
  {
    name: "a pool that asks for no tunnel",
    pools: [pool("q", "10.8.0.0/24", { vxlanMode: "Never" })],
    addresses: ["", "", ""],
  },
];

class Addresses {
  readonly lab: LoneAgent = new LoneAgent([plan(HOSTS[0], 0), plan(HOSTS[1], 1), plan(HOSTS[2], 2)], {
    FELIX_TUNNELADDRESSES: "Enabled",
  });

  constructor() {
    for (const [i, name] of HOSTS.entries()) {
      const spec = { bgp: { ipv4Address: `192.0.2.${i + 1}/24` } };
      this.lab.write([calico("Node", name, spec, { zone: i < 2 ? "near" : "far" })], `${name}.json`);
    }
  }

  /** What the Nodes say, in order of HOSTS; and how many addresses IPAM has given. */
  async stored(): Promise<{ readonly addresses: readonly string[]; readonly handles: number }> {
    const { resources } = await loadManifests(this.lab.directory);
    const addresses = HOSTS.map((host) => {
      const node = resources.find(({ resource: { kind, metadata } }) => kind === "Node" && metadata.name === host);
      const address = isObject(node?.resource.spec) ? node.resource.spec["ipv4VXLANTunnelAddr"] : undefined;
      return typeof address === "string" ? address : "";
    });
    return { addresses, handles: resources.filter(({ resource }) => resource.kind === "IPAMHandle").length };
  }

  /** The addresses of the devices, in order of HOSTS; "" without a device or an address. */
  devices(): readonly string[] {
    return HOSTS.map((host) => {
      const { namespace } = required(this.lab.network.host(host), host);
      const routes = namespace.run(() => openRouteConnection());
      try {
        const device = routes.link(DEVICE)?.index;
        if (device === undefined) return "";
        return routes.addresses({ device, family: 4 })[0]?.address.replace("/32", "") ?? "";
      } finally {
        routes.close();
      }
    });
  }

  /** Waits until Nodes, IPAM and devices are as the step wants them. The addresses. */
  async reaches(step: Step): Promise<readonly string[]> {
    const deadlineMs = performance.now() + WAIT_MS;
    for (;;) {
      const { addresses, handles } = await this.stored();
      const devices = this.devices();
      const given = addresses.filter((address) => address !== "");
      const isRight =
        step.addresses.every((prefix, i) => (prefix === "" ? addresses[i] === "" : addresses[i]?.startsWith(prefix))) &&
        new Set(given).size === given.length &&
        handles === given.length &&
        devices.join() === addresses.join();
      if (isRight) return addresses;
      for (const host of HOSTS)
        if (!this.lab.agentOf(host).isRunning) throw new Error(`${step.name}: the agent of ${host} has ended`);
      if (performance.now() > deadlineMs)
        throw new Error(`${step.name}: nodes ${addresses.join()}, devices ${devices.join()}, ${handles} handles`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

export const tunnelAddress: Scenario = {
  name: "tunnel-address",
  summary:
    "agents that give their hosts tunnel addresses: pools come, change, move and go; restarts keep what is there",
  async run({ quick, progress }) {
    const world = new Addresses();
    const rounds = quick ? 1 : 3;
    try {
      for (const host of HOSTS) world.lab.start(host);
      for (let round = 1; round <= rounds; round++) {
        for (const step of STEPS) {
          world.lab.write(step.pools, "pools.json");
          const addresses = await world.reaches(step);
          progress(`round ${round}: ${step.name}: ${addresses.map((address) => address || "none").join(", ")}`);
          if (step !== STEPS[1]) continue;
          // Whoever starts again keeps its address, and others what they have.
          await world.lab.agentOf(HOSTS[0]).stop("SIGKILL");
          world.lab.start(HOSTS[0]);
          const after = await world.reaches(step);
          if (after.join() !== addresses.join())
            throw new Error(`A restart changed ${addresses.join()} to ${after.join()}`);
        }
      }
      rmSync(join(world.lab.directory, "pools.json"));
      await world.reaches(required(STEPS[0], "a step"));
    } catch (error) {
      const logs = HOSTS.map((host) => `--- agent ${host}\n${world.lab.agentOf(host).logTail()}`);
      throw new Error(`${logs.join("\n")}\n${(error as Error).message}`);
    } finally {
      await world.lab.stop();
    }
    return { hosts: HOSTS.length, steps: STEPS.length * rounds + 1 };
  },
};
