import { writeFileSync } from "node:fs";
import { type Address, cidrOf, formatAddress, formatCidr } from "@bulrush/ip";
import { openRouteConnection, type RouteConnection, type RouteOperation } from "@bulrush/netlink";
import { NetNamespace } from "./namespace.ts";
import type { HostPlan, PodPlan } from "./plan.ts";

/**
 * The wires of a lab. The namespace that the lab's own process lives in is the fabric between the hosts: a router that
 * knows where every pod is, as a cloud's network does.
 *
 * ```
 *   fabric (this process, Typha)          host                          pod
 *   hX ───────────── veth ─────────────── eth0     caliYYYY ── veth ── eth0
 *   fe80::1 / 169.254.1.1 for eth0        node IP  fe80::ecee… / 169.254.1.1 for the pod
 *   routes: node IP dev hX;               default via the fabric        pod IP/32; default via 169.254.1.1
 *           pod IP via node IP            pod routes: the agent's
 * ```
 *
 * Every neighbour is permanent on our side, so that the first packet of a probe never waits for ARP.
 */
const GATEWAY4 = "169.254.1.1";
const GATEWAY6 = "fe80::ecee:eeff:feee:eeee";
const HOST_SIDE_MAC = "ee:ee:ee:ee:ee:ee";
const FABRIC_MAC = "02:fa:b0:00:00:01";
/** Where Typha listens: an address of the fabric. */
export const FABRIC_ADDRESS = "198.18.255.1";

export interface LabHost {
  readonly plan: HostPlan;
  readonly namespace: NetNamespace;
}

export interface LabPod {
  readonly plan: PodPlan;
  readonly namespace: NetNamespace;
}

function sysctl(path: string, value: string): void {
  writeFileSync(`/proc/sys/net/${path}`, value);
}

/** Inside a namespace: links come up at once, forwarding on where asked, no duplicate address detection. */
function prepareNamespace(isRouter: boolean): void {
  sysctl("ipv6/conf/default/accept_dad", "0");
  sysctl("ipv6/conf/all/accept_dad", "0");
  sysctl("ipv6/conf/default/router_solicitations", "0");
  sysctl("ipv4/conf/all/rp_filter", "0");
  sysctl("ipv4/conf/default/rp_filter", "0");
  if (!isRouter) return;
  sysctl("ipv4/ip_forward", "1");
  sysctl("ipv6/conf/all/forwarding", "1");
  sysctl("ipv4/icmp_ratelimit", "0");
}

function anyRoute(family: 4 | 6): string {
  return family === 4 ? "0.0.0.0/0" : "::/0";
}

function macOf(prefix: string, number: number): string {
  const hex = number.toString(16).padStart(8, "0");
  return `${prefix}:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4, 6)}:${hex.slice(6, 8)}`;
}

export class LabNetwork {
  readonly #fabric: RouteConnection;
  readonly #hosts = new Map<string, LabHost & { readonly routes: RouteConnection; readonly mac: string }>();
  readonly #pods = new Map<string, LabPod>();
  #serial = 0;

  constructor() {
    this.#fabric = openRouteConnection();
    prepareNamespace(true);
    this.#fabric.write({ kind: "change-link", link: "lo", change: { up: true } });
    this.#fabric.write({
      kind: "replace-address",
      address: { device: this.#device(this.#fabric, "lo"), address: `${FABRIC_ADDRESS}/32` },
    });
  }

  get hosts(): readonly LabHost[] {
    return [...this.#hosts.values()];
  }

  get pods(): readonly LabPod[] {
    return [...this.#pods.values()];
  }

  host(name: string): LabHost | undefined {
    return this.#hosts.get(name);
  }

  pod(name: string): LabPod | undefined {
    return this.#pods.get(name);
  }

  #device(routes: RouteConnection, name: string): number {
    const link = routes.link(name);
    if (link === undefined) throw new Error(`The lab lacks the device ${name}`);
    return link.index;
  }

  addHost(plan: HostPlan): LabHost {
    const number = ++this.#serial;
    const namespace = NetNamespace.create(`host-${plan.name}`);
    const routes = namespace.run(() => {
      prepareNamespace(true);
      return openRouteConnection();
    });
    const mac = macOf("02:b0", number);
    const fabricLink = `h${number}`;
    // Made in the fabric; the host's end moves over and gets its name there.
    this.#fabric.write({
      kind: "add-veth",
      veth: { name: fabricLink, mac: FABRIC_MAC, up: true, peer: { name: "eth0", mac, namespaceFd: namespace.fd } },
    });
    const fabricDevice = this.#device(this.#fabric, fabricLink);
    routes.write({ kind: "change-link", link: "lo", change: { up: true } });
    routes.write({ kind: "change-link", link: "eth0", change: { up: true } });
    const device = this.#device(routes, "eth0");
    const families = new Set(plan.addresses.map((address) => address.family));
    for (const address of plan.addresses) {
      const cidr = formatCidr(cidrOf(address));
      write(routes, { kind: "replace-address", address: { device, address: cidr, noDad: true } });
      write(this.#fabric, { kind: "replace-route", route: { destination: cidr, device: fabricDevice } });
      write(this.#fabric, {
        kind: "replace-neighbour",
        neighbour: { device: fabricDevice, address: formatAddress(address), mac },
      });
    }
    // A host without an address of a family still forwards for pods that have one.
    for (const family of [4, 6] as const) {
      const via = family === 4 ? GATEWAY4 : "fe80::1";
      write(routes, { kind: "replace-neighbour", neighbour: { device, address: via, mac: FABRIC_MAC } });
      write(routes, {
        kind: "replace-route",
        route: { destination: anyRoute(family), device, via, onlink: true, scope: "universe" },
      });
      if (!families.has(family)) {
        const link = family === 4 ? "169.254.2.2" : "fe80::2";
        write(this.#fabric, { kind: "replace-neighbour", neighbour: { device: fabricDevice, address: link, mac } });
      }
    }
    const host = { plan, namespace, routes, mac };
    this.#hosts.set(plan.name, host);
    return host;
  }

  removeHost(name: string): void {
    const host = this.#hosts.get(name);
    if (host === undefined) return;
    this.#hosts.delete(name);
    // The kernel takes a namespace apart in its own time; the link's name in the fabric must be free at once.
    host.routes.apply([{ kind: "delete-link", link: "eth0" }]);
    host.routes.close();
    host.namespace.close();
  }

  /** Makes the pod's namespace and link, as a CNI plugin would. Routes to it on its host are the agent's work. */
  addPod(plan: PodPlan): LabPod {
    const host = this.#hosts.get(plan.host);
    if (host === undefined) throw new Error(`Pod ${plan.name} is on ${plan.host}, which the lab does not have`);
    const namespace = NetNamespace.create(`pod-${plan.name.replace("/", "-")}`);
    const mac = macOf("02:90", ++this.#serial);
    const routes = namespace.run(() => {
      prepareNamespace(false);
      return openRouteConnection();
    });
    host.routes.write({
      kind: "add-veth",
      veth: {
        name: plan.interfaceName,
        mac: HOST_SIDE_MAC,
        up: true,
        peer: { name: "eth0", mac, namespaceFd: namespace.fd },
      },
    });
    routes.write({ kind: "change-link", link: "lo", change: { up: true } });
    routes.write({ kind: "change-link", link: "eth0", change: { up: true } });
    const device = this.#device(routes, "eth0");
    const hostDevice = this.#device(host.routes, plan.interfaceName);
    for (const address of plan.addresses) {
      const { family } = address;
      const via = family === 4 ? GATEWAY4 : GATEWAY6;
      write(routes, {
        kind: "replace-address",
        address: { device, address: formatCidr(cidrOf(address)), noDad: true },
      });
      write(routes, { kind: "replace-neighbour", neighbour: { device, address: via, mac: HOST_SIDE_MAC } });
      write(routes, {
        kind: "replace-route",
        route: { destination: anyRoute(family), device, via, onlink: true, scope: "universe" },
      });
      write(host.routes, {
        kind: "replace-neighbour",
        neighbour: { device: hostDevice, address: formatAddress(address), mac },
      });
      this.#routeThroughFabric(plan, address);
    }
    routes.close();
    const pod = { plan, namespace };
    this.#pods.set(plan.name, pod);
    return pod;
  }

  #routeThroughFabric(plan: PodPlan, address: Address): void {
    const host = this.#hosts.get(plan.host);
    const node = host?.plan.addresses.find((candidate) => candidate.family === address.family);
    const fallback = address.family === 4 ? "169.254.2.2" : "fe80::2";
    const via = node === undefined ? fallback : formatAddress(node);
    const device = this.#fabricDeviceOf(plan.host);
    write(this.#fabric, {
      kind: "replace-route",
      route: { destination: formatCidr(cidrOf(address)), device, via, onlink: true, scope: "universe" },
    });
  }

  #fabricDeviceOf(host: string): number {
    const mac = this.#hosts.get(host)?.mac;
    const number = Number.parseInt((mac ?? "").slice(6).replaceAll(":", ""), 16);
    return this.#device(this.#fabric, `h${number}`);
  }

  removePod(name: string): void {
    const pod = this.#pods.get(name);
    if (pod === undefined) return;
    this.#pods.delete(name);
    const host = this.#hosts.get(pod.plan.host);
    host?.routes.apply([{ kind: "delete-link", link: pod.plan.interfaceName }]);
    const device = this.#fabricDeviceOf(pod.plan.host);
    this.#fabric.apply(
      pod.plan.addresses.map((address) => ({
        kind: "delete-route",
        route: { destination: formatCidr(cidrOf(address)), device },
      })),
    );
    pod.namespace.close();
  }

  close(): void {
    for (const pod of this.pods) this.removePod(pod.plan.name);
    for (const host of this.hosts) this.removeHost(host.plan.name);
    this.#fabric.close();
  }
}

function write(routes: RouteConnection, operation: RouteOperation): void {
  routes.write(operation);
}
