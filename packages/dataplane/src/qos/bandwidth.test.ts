import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { QDISC_ROOT } from "@bulrush/netlink";
import type { DataplaneWorkloadEndpoint } from "@bulrush/proto";
import { Interfaces } from "../manager/interfaces.ts";
import { WorkloadEndpoints } from "../manager/workload-endpoints.ts";
import { FakeRoutes } from "../testing/fake-routes.ts";
import { workload, workloadRemove } from "../testing/messages.ts";
import { BandwidthManager } from "./bandwidth-manager.ts";
import { queueDeviceOf } from "./bandwidth-plan.ts";
import { isSameBucket, tokenBucketOf } from "./token-bucket.ts";

type Controls = DataplaneWorkloadEndpoint["qos_controls"];

describe("tokenBucketOf()", () => {
  const cases: readonly { readonly what: string; readonly controls: Controls; readonly bucket: unknown }[] = [
    { what: "no controls", controls: undefined, bucket: undefined },
    { what: "other controls", controls: { ingressPacketRate: 5, egressBandwidth: 8000 }, bucket: undefined },
    {
      what: "10 Mbit/s with a burst of 4 Gibit",
      controls: { ingressBandwidth: 10e6, ingressBurst: 2 ** 32 },
      bucket: { rate: 1_250_000, burst: 536_870_912, limit: 31_250 + 536_870_912 },
    },
    {
      what: "a peak with its burst in bytes",
      controls: { ingressBandwidth: 10e6, ingressBurst: 800_000, ingressPeakrate: 100e6, ingressMinburst: 3000 },
      bucket: { rate: 1_250_000, burst: 100_000, limit: 131_250, peakRate: 12_500_000, peakBurst: 3000 },
    },
    {
      what: "bursts of less than one packet",
      controls: { ingressBandwidth: 1000, ingressBurst: 1000, ingressPeakrate: 1010, ingressMinburst: 1000 },
      bucket: { rate: 125, burst: 1514, limit: 3 + 1514, peakRate: 126, peakBurst: 1514 },
    },
    {
      what: "a peak without a burst of its own",
      controls: { ingressBandwidth: 10e6, ingressBurst: 800_000, ingressPeakrate: 100e6 },
      bucket: { rate: 1_250_000, burst: 100_000, limit: 131_250, peakRate: 12_500_000, peakBurst: 1514 },
    },
    {
      what: "the greatest of all",
      controls: { ingressBandwidth: 1e15, ingressBurst: 34_359_738_360 },
      bucket: { rate: 125e12, burst: 4_294_967_295, limit: 4_294_967_295 },
    },
  ];
  for (const { bucket, controls, what } of cases)
    it(`makes of ${what} what the kernel takes`, () =>
      assert.deepEqual(tokenBucketOf(controls, "ingress", 1500), bucket));

  it("is recognised by isSameBucket(), though bursts come back a tick off", () => {
    const bucket = { rate: 1_250_000, burst: 100_000, limit: 131_250, peakRate: 12_500_000, peakBurst: 3000 };
    assert.ok(isSameBucket(bucket, { ...bucket, burst: 99_999, peakBurst: 2999 }));
    for (const change of [{ rate: 1 }, { limit: 131_251 }, { peakRate: 13_000_000 }, { peakBurst: 4000 }])
      assert.ok(!isSameBucket(bucket, { ...bucket, ...change }), JSON.stringify(change));
    const { peakBurst: _burst, peakRate: _rate, ...withoutPeak } = bucket;
    assert.ok(!isSameBucket(bucket, withoutPeak));
    assert.ok(!isSameBucket(withoutPeak, bucket));
    assert.ok(!isSameBucket(bucket, undefined));
  });
});

describe("BandwidthManager", () => {
  const BOTH = { ingressBandwidth: 10e6, ingressBurst: 8e6, egressBandwidth: 20e6, egressBurst: 8e6 } as const;
  const QUEUE = queueDeviceOf("calia");
  let kernel: FakeRoutes;
  let endpoints: WorkloadEndpoints;
  let interfaces: Interfaces;
  let manager: BandwidthManager;

  const link = (index: number, name: string): void => {
    kernel.setLink(index, name);
    interfaces.put(name, { name, index, up: true, mtu: 1500, addresses: new Set() });
  };
  const start = (): void => {
    endpoints = new WorkloadEndpoints();
    interfaces = new Interfaces();
    manager = new BandwidthManager(endpoints, interfaces, ["cali"]);
  };
  /** The operations of one call, by kind. */
  const writes = (): string[] => {
    kernel.writes.length = 0;
    assert.deepEqual(manager.apply(kernel, 0).failures, []);
    return kernel.writes.map((text) => text.split(" ")[0] ?? "");
  };
  /** "calia 1250000" for each token bucket at a root. */
  const buckets = (): string[] =>
    kernel.queues
      .qdiscs()
      .filter(({ kind, parent }) => kind === "tbf" && parent === QDISC_ROOT)
      .map(({ bucket, device }) => `${kernel.links().find(({ index }) => index === device)?.name} ${bucket?.rate}`)
      .sort();

  beforeEach(() => {
    kernel = new FakeRoutes();
    start();
    link(5, "calia");
    link(6, "eth0");
  });

  it("puts a bucket on the interface, and one on a queue device that all its packets are redirected to", () => {
    endpoints.onUpdate(workload("a", { qos_controls: BOTH }));
    writes();
    assert.deepEqual(buckets(), [`${QUEUE} 2500000`, "calia 1250000"]);
    assert.deepEqual(kernel.queues.filters(5), [{ device: 5, kind: "u32", redirectTo: kernel.link(QUEUE)?.index }]);
    assert.ok(QUEUE.startsWith("bwcali") && QUEUE.length === 15);
    assert.deepEqual(writes(), []);
  });

  it("has the bucket in place before anything is redirected to it", () => {
    endpoints.onUpdate(workload("a", { qos_controls: { egressBandwidth: 20e6 } }));
    assert.deepEqual(writes(), ["add-link", "replace-qdisc", "replace-qdisc", "add-redirect"]);
  });

  it("looks at nothing while no workload has a limit", () => {
    writes();
    const { listings } = kernel.queues;
    endpoints.onUpdate(workload("a"));
    link(5, "calia");
    assert.deepEqual(writes(), []);
    assert.equal(kernel.queues.listings, listings);
  });

  it("changes the bucket alone, when the limit changes", () => {
    endpoints.onUpdate(workload("a", { qos_controls: BOTH }));
    writes();
    endpoints.onUpdate(workload("a", { qos_controls: { ...BOTH, egressBandwidth: 40e6 } }));
    assert.deepEqual(writes(), ["replace-qdisc"]);
    assert.deepEqual(buckets(), [`${QUEUE} 5000000`, "calia 1250000"]);
  });

  for (const [what, message] of [
    ["the limit goes", workload("a")],
    ["the workload goes", workloadRemove("a")],
  ] as const)
    it(`takes all of it away when ${what}`, () => {
      endpoints.onUpdate(workload("a", { qos_controls: BOTH }));
      writes();
      endpoints.onUpdate(message);
      writes();
      assert.deepEqual([buckets(), kernel.queues.filters(5), kernel.link(QUEUE)], [[], [], undefined]);
    });

  it("takes the queue device away with its interface", () => {
    endpoints.onUpdate(workload("a", { qos_controls: BOTH }));
    writes();
    kernel.removeLink(5);
    interfaces.put("calia", undefined);
    writes();
    assert.equal(kernel.link(QUEUE), undefined);
    link(9, "calia");
    writes();
    assert.deepEqual(buckets(), [`${QUEUE} 2500000`, "calia 1250000"]);
  });

  it("writes nothing at a restart, and takes away what was left behind", () => {
    endpoints.onUpdate(workload("a", { qos_controls: BOTH }));
    writes();
    start();
    endpoints.onUpdate(workload("a", { qos_controls: BOTH }));
    assert.deepEqual(writes(), []);
    start();
    assert.deepEqual(writes().sort(), ["delete-link", "delete-qdisc", "delete-qdisc"]);
    assert.deepEqual(buckets(), []);
    kernel.apply([{ kind: "add-link", plain: { name: "bwcali00000000", kind: "ifb" } }]);
    manager.queueResync();
    assert.deepEqual(writes(), ["delete-link"]);
  });

  it("puts right at a refresh what somebody else changed, counts it and names it", () => {
    endpoints.onUpdate(workload("a", { qos_controls: BOTH }));
    writes();
    kernel.apply([{ kind: "delete-qdisc", qdisc: { kind: "ingress", device: 5 } }]);
    kernel.queues.put({ device: 5, kind: "fq_codel", handle: 2, parent: QDISC_ROOT });
    manager.queueResync();
    const named = manager.inspect(kernel);
    const { drift, repaired } = manager.apply(kernel, 0);
    assert.deepEqual(
      repaired?.map(({ kind, name, what }) => [kind, name, what]),
      [["device", "calia", "changed"]],
    );
    assert.deepEqual(repaired, named);
    assert.equal(drift, 3);
    assert.deepEqual(buckets(), [`${QUEUE} 2500000`, "calia 1250000"]);
    assert.equal(kernel.queues.filters(5).length, 1);
    assert.equal(manager.apply(kernel, 0).drift, 0);
  });

  it("makes the queue device again as soon as somebody takes it away", () => {
    endpoints.onUpdate(workload("a", { qos_controls: BOTH }));
    writes();
    const index = kernel.link(QUEUE)?.index ?? 0;
    interfaces.put(QUEUE, { name: QUEUE, index, up: true, mtu: 1500, addresses: new Set() });
    kernel.removeLink(index);
    interfaces.put(QUEUE, undefined);
    writes();
    assert.deepEqual(buckets(), [`${QUEUE} 2500000`, "calia 1250000"]);
    assert.deepEqual(kernel.queues.filters(5), [{ device: 5, kind: "u32", redirectTo: kernel.link(QUEUE)?.index }]);
  });

  it("leaves other queues on workload interfaces without a limit, and all of other interfaces", () => {
    kernel.queues.put({ device: 5, kind: "fq_codel", handle: 1, parent: QDISC_ROOT });
    kernel.queues.put({ device: 6, kind: "tbf", handle: 1, parent: QDISC_ROOT });
    endpoints.onUpdate(workload("a"));
    assert.deepEqual(writes(), []);
  });

  it("sets that of others at once, where one interface takes none", () => {
    link(7, "calib");
    kernel.queues.refusing.add(7);
    endpoints.onUpdate(workload("b", { qos_controls: BOTH }));
    endpoints.onUpdate(workload("a", { qos_controls: BOTH }));
    assert.equal(manager.apply(kernel, 0).failures.length, 1);
    assert.deepEqual(buckets(), [`${QUEUE} 2500000`, "calia 1250000"]);
    assert.equal(kernel.queues.filters(5).length, 1);
    kernel.queues.refusing.clear();
    writes();
    assert.equal(buckets().length, 4);
  });

  it("tells of a kernel without queue devices, and tries again", () => {
    kernel.missingKinds.add("ifb");
    endpoints.onUpdate(workload("a", { qos_controls: BOTH }));
    assert.equal(manager.apply(kernel, 0).failures.length, 1);
    kernel.missingKinds.clear();
    writes();
    assert.deepEqual(buckets(), [`${QUEUE} 2500000`, "calia 1250000"]);
  });
});
