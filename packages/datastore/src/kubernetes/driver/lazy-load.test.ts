import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";

test("the client library is loaded when a Kubernetes datastore is opened, not with the package", async () => {
  const loaded: string[] = [];
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      loaded.push(specifier);
      return next(specifier, context);
    },
  });
  try {
    const { openDatastore } = await import("../../index.ts");
    assert.ok(loaded.some((specifier) => specifier.endsWith("/kubernetes-driver.ts")));
    assert.ok(!loaded.includes("@kubernetes/client-node"));
    const config = { type: "kubernetes", server: "https://127.0.0.1:1", token: "t" } as const;
    const driver = await openDatastore(config, { clock: new ManualClock() });
    assert.ok(loaded.includes("@kubernetes/client-node"));
    await driver.close();
  } finally {
    hooks.deregister();
  }
});
