import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { openRouteConnection } from "@bulrush/netlink";
import { kernelTests } from "@bulrush/netlink/testing";
import { planThreading } from "../wireguard/threading.ts";
import { virtualDevices } from "./virtual-devices.ts";

kernelTests(import.meta.filename, () => {
  // One of this namespace: what is mounted so far shows the machine's own interfaces.
  execFileSync("mount", ["-t", "sysfs", "sysfs", "/sys"]);
  const settings = virtualDevices();

  test("virtualDevices() reads and writes threaded NAPI, as planThreading() asks, and says so of devices that have none", () => {
    const routes = openRouteConnection();
    // It handles its packets by NAPI, as WireGuard does once it has a peer; the loopback device does not.
    const vxlan = { name: "v0", vni: 7, port: 4789, local: "192.0.2.1", mac: "66:00:00:00:00:01", mtu: 1450, up: true };
    routes.write({ kind: "add-vxlan", vxlan });
    routes.close();
    for (const isWanted of [true, false]) {
      const value = isWanted ? "1" : "0";
      assert.deepEqual(planThreading("v0", isWanted, true, settings), { kind: "write", path: "v0/threaded", value });
      settings.write("v0/threaded", value);
      assert.equal(settings.read("v0/threaded"), value);
      assert.deepEqual(planThreading("v0", isWanted, true, settings), { kind: "as-wanted" });
    }
    assert.throws(() => settings.write("lo/threaded", "1"), { errno: -95 });
    assert.equal(settings.read("nothing/threaded"), undefined);
    assert.equal(planThreading("nothing", true, true, settings).kind, "cannot");
    assert.throws(() => settings.write("nothing/threaded", "1"), { code: "ENOENT" });
  });
});
