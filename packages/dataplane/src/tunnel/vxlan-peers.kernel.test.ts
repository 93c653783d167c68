import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { openRouteConnection, type RouteConnection } from "@bulrush/netlink";
import { kernelTests } from "@bulrush/netlink/testing";
import { planPeers } from "./vxlan-peers.ts";

const MAC_B = "66:00:00:00:00:0b";
const MAC_C = "66:00:00:00:00:0c";
const PEERS = [
  { address: "10.65.1.0", mac: MAC_B, host: "192.0.2.2" },
  { address: "10.65.2.0", mac: MAC_C, host: "192.0.2.3" },
] as const;

kernelTests(import.meta.filename, () => {
  let routes: RouteConnection;
  let device = 0;
  const listed = (forwarding: boolean): string[] =>
    routes
      .neighbours(forwarding ? { device, forwarding } : { device, family: 4 })
      .map(({ address, mac }) => (forwarding ? `${mac} to ${address}` : `${address} at ${mac}`))
      .sort();
  const plan = () =>
    planPeers(device, PEERS, routes.neighbours({ device, family: 4 }), routes.neighbours({ device, forwarding: true }));
  const bring = (): void => {
    assert.deepEqual(routes.apply(plan()), []);
    assert.deepEqual(listed(true), [`${MAC_B} to 192.0.2.2`, `${MAC_C} to 192.0.2.3`]);
    assert.deepEqual(listed(false), [`10.65.1.0 at ${MAC_B}`, `10.65.2.0 at ${MAC_C}`]);
    assert.deepEqual(plan(), [], "nothing is left to do");
  };
  const bridge = (words: string): void => void execFileSync("bridge", words.split(" "));

  test("planPeers() writes entries that read back as they are, and puts right what others did to them", () => {
    routes = openRouteConnection();
    const vxlan = {
      name: "vx",
      vni: 4096,
      port: 4789,
      local: "192.0.2.1",
      mac: "66:00:00:00:00:0a",
      mtu: 1450,
      up: true,
    };
    routes.write({ kind: "add-vxlan", vxlan });
    device = routes.link("vx")?.index ?? assert.fail("no device");
    bring();

    // One more host for a MAC, ahead of its own and behind it; another host in its place; a MAC of nobody.
    bridge(`fdb append ${MAC_B} dev vx dst 192.0.2.9`);
    bring();
    bridge(`fdb del ${MAC_C} dev vx dst 192.0.2.3`);
    bridge(`fdb append ${MAC_C} dev vx dst 192.0.2.8`);
    bridge(`fdb append ${MAC_C} dev vx dst 192.0.2.9`);
    bring();
    bridge(`fdb append 66:00:00:00:00:0d dev vx dst 192.0.2.4`);
    bring();
    execFileSync("ip", ["neigh", "replace", "10.65.1.0", "lladdr", MAC_C, "dev", "vx", "nud", "permanent"]);
    execFileSync("ip", ["neigh", "add", "10.65.9.0", "lladdr", MAC_C, "dev", "vx", "nud", "permanent"]);
    bring();
    routes.write({ kind: "delete-link", link: "vx" });
    routes.close();
  });
});
