import assert from "node:assert/strict";
import { test } from "node:test";
import { kernelTests, runReadme } from "./testing.ts";
import { openRouteConnection } from "./route/open-route-connection.ts";

kernelTests(import.meta.filename, () => {
  test("the code of the README runs", async () => {
    const host = openRouteConnection();
    host.write({ kind: "add-veth", veth: { name: "cali1", up: true, peer: { name: "peer" } } });
    await runReadme(import.meta.dirname, "@bulrush/netlink");
    assert.deepEqual(
      host.routes({ protocol: 3 }).map(({ destination }) => destination),
      ["10.0.0.1/32"],
    );
    host.close();
  });
});
