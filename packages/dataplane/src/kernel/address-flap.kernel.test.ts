import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { clusterRoute, encapsulation, IN_SYNC } from "../testing/messages.ts";

const HOST = "192.168.7.1";
const OTHER = "192.168.7.2";
const BLOCK = "10.66.1.0/26";
/** Nothing is read back but for what the kernel tells. */
const SETTINGS = {
  FelixHostname: "oak",
  ProgramClusterRoutes: "Enabled",
  RouteRefreshInterval: "0",
  InterfaceRefreshInterval: "0",
};

kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;
  const hasRoute = (): boolean => lab.run("ip route").includes(`${BLOCK} via ${OTHER} dev eth0 proto 80`);

  before(() => {
    lab = new KernelLab();
    dataplane = startKernelDataplane(SETTINGS);
  });
  after(async () => {
    await dataplane.stop();
    lab.close();
  });

  it("a host's address that is renewed takes routes to other hosts along, and they come back", async () => {
    await dataplane.send(
      encapsulation({ no_encap_needed: true }),
      clusterRoute(`${HOST}/32`, { types: ["LOCAL_HOST"], ip_pool_type: "NONE", dst_node_ip: HOST }),
      clusterRoute(BLOCK, { ip_pool_type: "NO_ENCAP", dst_node_name: "elm", dst_node_ip: OTHER }),
      IN_SYNC,
    );
    await until("the route is there", hasRoute);
    const batch = `addr del ${HOST}/24 dev eth0\nroute show\naddr add ${HOST}/24 dev eth0\n`;
    assert.ok(!lab.run("ip -batch -", batch).includes(BLOCK), "the kernel has dropped it with the address");
    await until("the route is back", hasRoute);
  });
});
