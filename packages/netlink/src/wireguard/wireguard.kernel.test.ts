import assert from "node:assert/strict";
import { test } from "node:test";
import { must } from "@bulrush/base";
import { hasErrno, isNotFound } from "../errors.ts";
import { openRouteConnection } from "../route/open-route-connection.ts";
import { kernelTests } from "../testing/kernel-tests.ts";
import { wireguardCompliance } from "../testing/wireguard-compliance.ts";
import { openWireguard } from "./open-wireguard.ts";

/** False where the kernel has no such device (CONFIG_WIREGUARD). */
function addDevice(): boolean {
  const routes = openRouteConnection();
  try {
    routes.write({ kind: "add-link", plain: { name: "wg0", kind: "wireguard" } });
    return true;
  } catch (error) {
    assert.ok(hasErrno(error, "EOPNOTSUPP"), String(error));
    return false;
  } finally {
    routes.close();
  }
}

function removeDevice(): void {
  const routes = openRouteConnection();
  try {
    routes.write({ kind: "delete-link", link: "wg0" });
  } catch (error) {
    assert.ok(isNotFound(error) || hasErrno(error, "ENODEV"), String(error));
  } finally {
    routes.close();
  }
}

kernelTests(import.meta.filename, () => {
  if (!addDevice()) {
    test("[kernel] no wireguard device: there is no such netlink family either", () => {
      assert.equal(openWireguard(), undefined);
    });
    return;
  }
  wireguardCompliance(() => {
    removeDevice();
    assert.ok(addDevice());
    return must(openWireguard(), "WireGuard of the kernel");
  });
  test("device() gives undefined for a device of another kind", () => {
    const wireguard = openWireguard();
    assert.equal(wireguard?.device("lo"), undefined);
    wireguard?.close();
  });
});
