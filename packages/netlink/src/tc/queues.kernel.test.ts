import assert from "node:assert/strict";
import { test } from "node:test";
import { must } from "@bulrush/base";
import { isAlreadyExists, isNotFound } from "../errors.ts";
import { openRouteConnection } from "../route/open-route-connection.ts";
import type { RouteConnection } from "../route/route-connection.ts";
import type { RoutingRule } from "../route/rule.ts";
import { kernelTests } from "../testing/kernel-tests.ts";
import { QDISC_INGRESS, QDISC_ROOT, type TokenBucket } from "./qdisc.ts";

/** Runs with a device and an ifb that are gone afterwards. */
function withDevices(run: (connection: RouteConnection, device: number, ifb: number) => void): void {
  const connection = openRouteConnection();
  try {
    connection.write({ kind: "add-veth", veth: { name: "q0", up: true, peer: { name: "q1" } } });
    connection.write({ kind: "add-link", plain: { name: "ifbq", kind: "ifb", up: true, mtu: 1400 } });
    run(connection, must(connection.link("q0"), "q0").index, must(connection.link("ifbq"), "ifbq").index);
  } finally {
    connection.apply([
      { kind: "delete-link", link: "q0" },
      { kind: "delete-link", link: "ifbq" },
    ]);
    connection.close();
  }
}

kernelTests(import.meta.filename, () => {
  const BUCKETS: readonly { readonly name: string; readonly bucket: TokenBucket }[] = [
    { name: "10 Mbit/s", bucket: { rate: 1_250_000, burst: 102_400, limit: 133_650 } },
    {
      name: "10 Mbit/s with a peak of 100",
      bucket: { rate: 1_250_000, burst: 102_400, limit: 133_650, peakRate: 12_500_000, peakBurst: 3000 },
    },
    { name: "100 Gbit/s", bucket: { rate: 12_500_000_000, burst: 10_000_000, limit: 320_000_000 } },
  ];
  for (const { bucket, name } of BUCKETS)
    test(`a token bucket of ${name} is put at the root, listed with all that it was made of, and taken away`, () => {
      withDevices((connection, device) => {
        const root = () => connection.qdiscs().find((one) => one.device === device && one.parent === QDISC_ROOT);
        connection.write({ kind: "replace-qdisc", qdisc: { kind: "tbf", device, bucket } });
        const listed = must(root(), "the root");
        assert.equal(listed.kind, "tbf");
        const { burst = 0, peakBurst, ...exact } = listed.bucket ?? { rate: 0, limit: 0 };
        const { burst: wantedBurst, peakBurst: wantedPeak, ...wanted } = bucket;
        assert.deepEqual(exact, wanted);
        // A tick of 64 ns at the rate.
        assert.ok(Math.abs(burst - wantedBurst) <= 1 + (64 * bucket.rate) / 1e9, `${burst}`);
        assert.equal(peakBurst === undefined, wantedPeak === undefined);
        connection.write({
          kind: "replace-qdisc",
          qdisc: { kind: "tbf", device, bucket: { ...bucket, limit: 50_000 } },
        });
        assert.equal(root()?.bucket?.limit, 50_000);
        connection.write({ kind: "delete-qdisc", qdisc: { kind: "tbf", device } });
        assert.equal(root()?.kind, "noqueue");
        assert.throws(() => connection.write({ kind: "delete-qdisc", qdisc: { kind: "tbf", device } }));
      });
    });

  test("what arrives is redirected by a filter of the ingress qdisc, and both go together", () => {
    withDevices((connection, device, ifb) => {
      assert.deepEqual(connection.ingressFilters(device), []);
      assert.throws(() => connection.write({ kind: "add-redirect", redirect: { device, to: ifb } }));
      connection.write({ kind: "replace-qdisc", qdisc: { kind: "ingress", device } });
      connection.write({ kind: "add-redirect", redirect: { device, to: ifb } });
      assert.deepEqual(connection.ingressFilters(device), [{ device, kind: "u32", redirectTo: ifb }]);
      assert.ok(connection.qdiscs().some((one) => one.device === device && one.parent === QDISC_INGRESS));
      connection.write({ kind: "delete-qdisc", qdisc: { kind: "ingress", device } });
      assert.deepEqual(connection.ingressFilters(device), []);
      assert.deepEqual(connection.ingressFilters(99_999), []);
      assert.deepEqual([connection.link("ifbq")?.kind, connection.link("ifbq")?.mtu], ["ifb", 1400]);
    });
  });

  for (const family of [4, 6] as const)
    test(`rules of IPv${family} are added, listed and deleted`, () => {
      const connection = openRouteConnection();
      const source = family === 4 ? "10.0.0.0/8" : "fd00::/8";
      const rules: readonly RoutingRule[] = [
        { family, priority: 99, table: 1, mark: { value: 0x200000, mask: 0x200000 }, invert: true },
        { family, priority: 100, table: 4096, source, protocol: 80 },
      ];
      const listed = () => connection.rules(family).filter(({ priority }) => priority === 99 || priority === 100);
      for (const rule of rules) connection.write({ kind: "add-rule", rule });
      assert.deepEqual(
        listed().map(({ protocol: _protocol, ...rule }) => rule),
        rules.map(({ protocol: _protocol, ...rule }) => rule),
      );
      assert.equal(listed()[1]?.protocol, 80);
      assert.throws(() => connection.write({ kind: "add-rule", rule: must(rules[0], "a rule") }), isAlreadyExists);
      for (const rule of rules) connection.write({ kind: "delete-rule", rule });
      assert.deepEqual(listed(), []);
      assert.throws(() => connection.write({ kind: "delete-rule", rule: must(rules[0], "a rule") }), isNotFound);
      connection.close();
    });
});
