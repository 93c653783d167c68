import assert from "node:assert/strict";
import { test } from "node:test";
import { hasErrno } from "../errors.ts";
import { openRouteConnection } from "../route/open-route-connection.ts";
import { kernelTests } from "../testing/kernel-tests.ts";
import { openWireguard } from "./open-wireguard.ts";

kernelTests(import.meta.filename, () => {
  test("openWireguard() finds WireGuard exactly where a device of it can be made, and sets one up", () => {
    const routes = openRouteConnection();
    let isThere = true;
    try {
      routes.write({ kind: "add-link", plain: { name: "wg0", kind: "wireguard" } });
    } catch (error) {
      assert.ok(hasErrno(error, "EOPNOTSUPP"), String(error));
      isThere = false;
    }
    const wireguard = openWireguard();
    assert.equal(wireguard !== undefined, isThere);
    if (wireguard !== undefined) {
      const key = Buffer.alloc(32, 0x40).toString("base64");
      const peer = { publicKey: Buffer.alloc(32, 9).toString("base64"), allowedIps: ["10.0.0.0/26", "fd00::1/128"] };
      wireguard.change({ name: "wg0", privateKey: key, port: 51820, mark: 16, peers: [peer] });
      const device = wireguard.device("wg0");
      assert.deepEqual([device?.privateKey, device?.port, device?.mark], [key, 51820, 16]);
      assert.deepEqual(
        device?.peers.map(({ allowedIps, publicKey }) => [publicKey, allowedIps.toSorted()]),
        [[peer.publicKey, peer.allowedIps.toSorted()]],
      );
      assert.equal(wireguard.device("lo"), undefined);
      wireguard.close();
    }
    routes.close();
  });
});
