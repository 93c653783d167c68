import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { ToDataplane } from "@bulrush/proto";
import type { InspectableDataplane } from "../handle.ts";
import { FakeHost } from "../testing/fake-host.ts";
import { IN_SYNC } from "../testing/messages.ts";
import { ASH, CLUSTER, DEVICE, ELM_KEY, OWN, RULE, keyOf } from "../testing/wireguard-cluster.ts";

describe("WireGuard's device with threads of its own", () => {
  let kernel: FakeHost;
  let dataplane: InspectableDataplane;

  const ON = { WireguardEnabled: "true" } as const;
  const start = async (settings: Record<string, string>, ...messages: readonly ToDataplane[]): Promise<void> => {
    dataplane = kernel.start({ FelixHostname: "oak", ...settings });
    await kernel.send(dataplane, ...messages, IN_SYNC);
    await kernel.advance(1000);
  };

  beforeEach(() => {
    kernel = new FakeHost();
    kernel.routes.setLink(2, "eth0");
  });

  const THREADED = `${DEVICE}/threaded`;
  const THREADS = { ...ON, WireguardThreadingEnabled: "true" } as const;
  const threaded = (): string | undefined => kernel.virtualDevices.read(THREADED);

  it("has none by default, and loses those that an earlier setting gave it", async () => {
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    assert.deepEqual(kernel.virtualDevices.writes, []);
    await dataplane.stop();
    kernel.virtualDevices.write(THREADED, "1");
    await start(ON, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    assert.equal(threaded(), "0");
    await dataplane.stop();
  });

  it("has some where that is asked for, once it has a first peer: the kernel refuses before", async () => {
    await start(THREADS, ...CLUSTER);
    assert.deepEqual(kernel.virtualDevices.writes, []);
    await kernel.send(dataplane, ELM_KEY);
    await kernel.advance(1000);
    assert.deepEqual(kernel.virtualDevices.writes, [`${THREADED}=1`]);
    assert.equal(kernel.wireguard.device(DEVICE)?.peers.length, 1);
    await kernel.send(dataplane, keyOf("ash", ASH));
    await kernel.advance(60_000);
    assert.equal(kernel.virtualDevices.writes.length, 1, "once for all peers");
    await dataplane.stop();
  });

  it("gets them back within 10 s, and they are named", async () => {
    await start(THREADS, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
    const drift = kernel.status?.counters.drift.device ?? 0;
    kernel.virtualDevices.write(THREADED, "0");
    const report = dataplane.inspect();
    await kernel.settle();
    const { differences } = await report;
    assert.deepEqual(differences, [{ kind: "device", name: DEVICE, what: "changed", detail: "threads" }]);
    await kernel.advance(11_000);
    assert.deepEqual([threaded(), kernel.status?.counters.drift.device], ["1", drift + 1]);
    await dataplane.stop();
  });

  for (const [what, hinder] of [
    ["cannot be written", (): void => void (kernel.virtualDevices.failing = "threaded")],
    ["this kernel does not have", (): void => void (kernel.virtualDevices.read = () => undefined)],
  ] as const)
    it(`holds nothing up where the setting is one that ${what}, and says so once`, async () => {
      hinder();
      await start(THREADS, ...CLUSTER, ELM_KEY, keyOf("oak", OWN));
      await kernel.advance(60_000);
      assert.equal(kernel.status?.phase, "in-sync");
      assert.deepEqual(kernel.routes.rules(4), [RULE]);
      assert.equal(kernel.logs.filter((line) => line.includes("WireguardThreadingEnabled")).length, 1);
      await dataplane.stop();
    });
});
