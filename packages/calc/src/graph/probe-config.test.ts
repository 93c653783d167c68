import assert from "node:assert/strict";
import { test } from "node:test";
import { formatKey, type Key, type Update, type Value } from "@bulrush/model";
import { probeConfig, withEncapsulation } from "./probe-config.ts";

const update = (key: Key, value: unknown): Update => ({
  key,
  path: formatKey(key),
  value: value as Value | undefined,
  revision: "1",
  type: "new",
});
const pool = (fields: object): Update =>
  update(
    { type: "IPPool", cidr: "10.0.0.0/16" },
    { cidr: "10.0.0.0/16", ipip_mode: "", vxlan_mode: "", disabled: false, allowed_uses: [], ...fields },
  );
const probe = (updates: Update[], config = {}) =>
  probeConfig(updates, { hostname: "h", parametersOf: () => new Map(), config });

test("probeConfig() gives the datastore's settings of this host, and what the pools ask for", () => {
  const { isReady, settings, encapsulation } = probe([
    update({ type: "ReadyFlag" }, true),
    update({ type: "GlobalConfig", name: "A" }, "global"),
    update({ type: "HostConfig", hostname: "h", name: "A" }, "own"),
    update({ type: "HostConfig", hostname: "other", name: "B" }, "foreign"),
    pool({ vxlan_mode: "always" }),
  ]);
  assert.equal(isReady, true);
  assert.deepEqual(settings.config, new Map([["A", "own"]]));
  assert.deepEqual(withEncapsulation({ wireguardEnabled: true }, encapsulation), {
    wireguardEnabled: true,
    ipipEnabled: false,
    vxlanEnabled: true,
    vxlanEnabledV6: false,
    noEncapNeeded: false,
  });
});

test("probeConfig() lets an explicit setting beat the pools", () => {
  const { encapsulation } = probe([pool({ vxlan_mode: "always" })], { explicitVXLANEnabled: false });
  assert.equal(encapsulation.vxlan_enabled, false);
});

test("probeConfig() says that the datastore is not ready", () => {
  assert.equal(probe([update({ type: "ReadyFlag" }, false)]).isReady, false);
});

test("probeConfig() of nothing, and of what is not valid, is empty", () => {
  for (const updates of [[], [pool({ vxlan_mode: 7 }), update({ type: "GlobalConfig", name: "A" }, 7)]]) {
    const { settings, encapsulation } = probe(updates);
    assert.deepEqual(settings.config, new Map());
    assert.equal(encapsulation.vxlan_enabled, false);
  }
});
