import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { openRouteConnection, type Route, type RouteConnection } from "@bulrush/netlink";
import { kernelTests } from "@bulrush/netlink/testing";
import type { Family } from "../render/statements.ts";
import { ownRule, planLeftovers, planRoutes, planRules } from "./plan-wireguard.ts";

const MARK = 0x200000;
const NETWORKS = {
  4: { far: "10.65.2.0/26", address: "10.65.3.1/32", near: "10.65.1.0/26", other: "172.16.0.0/12" },
  6: { far: "fd00:65:2::/122", address: "fd00:65:3::1/128", near: "fd00:65:1::/122", other: "fd00:66::/64" },
} as const;

/** A veth stands in for the device: the kernel's routing does not look at its kind. */
function deviceOf(routes: RouteConnection): number {
  if (routes.link("wg0") === undefined)
    routes.write({ kind: "add-veth", veth: { name: "wg0", up: true, peer: { name: "wg0peer" } } });
  return routes.link("wg0")?.index ?? assert.fail("no device");
}

kernelTests(import.meta.filename, () => {
  for (const family of [4, 6] as const satisfies Family[]) {
    const { address, far, near, other } = NETWORKS[family];
    const table = family === 4 ? 1 : 2;

    test(`routes of IPv${family}: what is written reads back as it is, and differences are put right`, () => {
      const routes = openRouteConnection();
      const device = deviceOf(routes);
      const hosts = [{ publicKey: "k", endpoint: "", networks: [far, address] }];
      const plan = (isTold: boolean) => {
        const plain = isTold ? [near] : [near, far, address];
        return planRoutes(table, device, { hosts, isTold, plain }, routes.routes({ family, table }), family);
      };
      const bring = (isTold: boolean): void => {
        assert.deepEqual(routes.apply(plan(isTold)), []);
        assert.deepEqual(plan(isTold), [], "nothing is left to do");
      };
      const kinds = (): string[] =>
        routes
          .routes({ family, table })
          .map(({ destination, type = "unicast" }: Route) => `${destination} ${type}`)
          .sort();
      bring(false);
      assert.deepEqual(kinds(), [`${near} throw`, `${far} throw`, `${address} throw`].sort());
      bring(true);
      const told = [`${near} throw`, `${far} unicast`, `${address} unicast`].sort();
      assert.deepEqual(kinds(), told);
      // What somebody else does to it.
      routes.write({ kind: "replace-route", route: { destination: other, table, device } });
      routes.write({ kind: "delete-route", route: { destination: far, table, device } });
      routes.write({ kind: "add-route", route: { destination: near, table, device, metric: 7 } });
      bring(true);
      assert.deepEqual(kinds(), told);
      bring(false);
      assert.deepEqual(
        routes.apply(routes.routes({ family, table }).map((route) => ({ kind: "delete-route", route }))),
        [],
      );
      assert.deepEqual(kinds(), []);
      routes.close();
    });

    test(`the rule of IPv${family} of earlier settings is told from one that somebody else wrote`, () => {
      const routes = openRouteConnection();
      const own = ownRule(family, 99, table, MARK);
      const stale = { ...own, table: 9 };
      routes.write({ kind: "add-rule", rule: own });
      routes.write({ kind: "add-rule", rule: stale });
      const words = `-${family} rule add not fwmark ${MARK}/${MARK} lookup 8 priority 99`;
      execFileSync("ip", words.split(" "));
      const plan = () => planLeftovers(own, routes.rules(family));
      assert.deepEqual(plan(), { rules: [stale], tables: [9], ownTable: table });
      assert.deepEqual(routes.apply(plan().rules.map((rule) => ({ kind: "delete-rule", rule }))), []);
      assert.deepEqual(plan(), { rules: [], tables: [], ownTable: table });
      const left = routes.rules(family).filter(({ priority }) => priority === 99);
      assert.deepEqual(new Set(left.map((rule) => rule.table)), new Set([table, 8]));
      assert.deepEqual(routes.apply(left.map((rule) => ({ kind: "delete-rule", rule }))), []);
      routes.close();
    });

    test(`the rule of IPv${family}: what is written reads back as it is, and others that ask the table go`, () => {
      const routes = openRouteConnection();
      const own = ownRule(family, 99, table, MARK);
      const foreign = { family, priority: 77, table: 7, mark: { value: 1, mask: 1 } } as const;
      routes.write({ kind: "add-rule", rule: foreign });
      routes.write({ kind: "add-rule", rule: { ...own, priority: 50 } });
      assert.deepEqual(routes.apply(planRules(own, table, routes.rules(family))), []);
      assert.deepEqual(planRules(own, table, routes.rules(family)), []);
      assert.deepEqual(
        routes.rules(family).filter((rule) => rule.table === table),
        [own],
      );
      assert.deepEqual(routes.apply(planRules(undefined, table, routes.rules(family))), []);
      assert.deepEqual(
        routes.rules(family).filter((rule) => rule.table === table || rule.table === 7),
        [foreign],
      );
      routes.close();
    });
  }
});
