import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeFlows } from "../testing/fake-flows.ts";
import { FakeRoutes } from "../testing/fake-routes.ts";
import { FlowCleanup } from "./flow-cleanup.ts";

describe("FlowCleanup", () => {
  it("deletes the flows of what was added, once", () => {
    const flows = new FakeFlows(new FakeRoutes());
    const cleanup = new FlowCleanup();
    cleanup.add(["10.65.0.2", "fd65::2"]);
    assert.equal(cleanup.isPending("10.65.0.2"), true);
    assert.deepEqual(cleanup.run(flows).failures, []);
    assert.equal(cleanup.isPending("10.65.0.2"), false);
    cleanup.run(flows);
    assert.deepEqual(flows.deleted, ["10.65.0.2", "fd65::2"]);
  });

  it("tries three times more, and then gives the address free and says so", () => {
    const flows = new FakeFlows(new FakeRoutes());
    flows.failing = "10.65.0.2";
    const cleanup = new FlowCleanup();
    cleanup.add(["10.65.0.2"]);
    for (let tries = 1; tries <= 3; tries++) {
      assert.deepEqual(cleanup.run(flows).failures, ["Delete flows of 10.65.0.2: EBUSY"]);
      assert.equal(cleanup.isPending("10.65.0.2"), true);
    }
    assert.match(cleanup.run(flows).failures[0] ?? "", /gave up after 4 tries/);
    assert.equal(cleanup.isPending("10.65.0.2"), false);
  });

  it("counts anew for an address that is added again", () => {
    const flows = new FakeFlows(new FakeRoutes());
    flows.failing = "10.65.0.2";
    const cleanup = new FlowCleanup();
    cleanup.add(["10.65.0.2"]);
    for (let tries = 1; tries <= 3; tries++) cleanup.run(flows);
    cleanup.add(["10.65.0.2"]);
    cleanup.run(flows);
    assert.equal(cleanup.isPending("10.65.0.2"), true);
  });

  it("leaves what is over 256 addresses for the next run", () => {
    const flows = new FakeFlows(new FakeRoutes());
    const cleanup = new FlowCleanup();
    cleanup.add(Array.from({ length: 300 }, (_, i) => `10.65.${i >> 8}.${i & 255}`));
    cleanup.run(flows);
    assert.equal(cleanup.size, 44);
    cleanup.run(flows);
    assert.equal(cleanup.size, 0);
  });
});
