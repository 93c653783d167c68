import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRoute, routeHash } from "./use-route.ts";

test("a page with its questions is an address, and back", () => {
  const query = new URLSearchParams({ from: "shop/web", to: "10.0.0.1", port: "80" });
  const hash = routeHash("explain", query);
  assert.equal(hash, "#/explain?from=shop%2Fweb&to=10.0.0.1&port=80");
  const route = parseRoute(hash);
  assert.deepEqual([route.page, Object.fromEntries(route.query)], ["explain", Object.fromEntries(query)]);
});

test("no page, or one that is not known, is the first", () => {
  for (const hash of ["", "#", "#/", "#/nowhere", "#//clients"]) assert.equal(parseRoute(hash).page, "clients");
  assert.equal(routeHash("limit"), "#/limit");
});
