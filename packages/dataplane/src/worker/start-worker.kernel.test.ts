import assert from "node:assert/strict";
import { it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import { openNftConnection } from "@bulrush/nftables";
import type { DataplaneHandle, DataplaneWorkerOptions } from "../handle.ts";
import type { DataplaneStatus, FromDataplane } from "../status.ts";
import { IN_SYNC, ipSetDelta, policy, policyId, rule, tier, workload } from "../testing/messages.ts";
import { startDataplaneWorker } from "./start-worker.ts";

const P = policyId("np/default/p");
const WORLD = [policy(P, [rule("allow")]), workload("a", { tiers: [tier("default", [P])] }), IN_SYNC];

kernelTests(import.meta.filename, () => {
  const statuses: DataplaneStatus[] = [];
  const messages: FromDataplane[] = [];
  const fatal: Error[] = [];
  let onApplied: (sequence: number) => void = () => undefined;

  const start = (options: Partial<DataplaneWorkerOptions> = {}): Promise<DataplaneHandle> =>
    startDataplaneWorker(
      { settings: new Map(), seed: 1, ...options },
      {
        onStatus: (status) => statuses.push(status),
        onApplied: (sequence) => onApplied(sequence),
        onMessage: (message) => messages.push(message),
        onFatal: (error) => fatal.push(error),
      },
    );

  it("startDataplaneWorker() programs the namespace of the process, reports marks, and leaves all on stop()", async () => {
    const dataplane = await start();
    const applied = new Promise<number>((resolve) => (onApplied = resolve));
    await dataplane.send(WORLD);
    dataplane.mark(42);
    assert.equal(await applied, 42);
    assert.ok(messages.some(({ msg }) => msg === "DataplaneInSync"));
    const nft = openNftConnection();
    assert.ok(nft.readTable("ip", "calico")?.chains.has("filter-cali-tw-calia"));
    await dataplane.stop();
    assert.equal(statuses.at(-1)?.phase, "stopped");
    assert.notEqual(nft.readTable("ip6", "calico"), undefined);
    nft.close();
    assert.deepEqual(fatal, []);
    await dataplane.send([ipSetDelta("s:x", [])]);
  });

  it("startDataplaneWorker() ends as fatal when the loop does, and send() does not hang then", async () => {
    const dataplane = await start();
    const died = new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        if (fatal.length > 0) {
          clearInterval(timer);
          resolve();
        }
      }, 5);
    });
    // A rule that looks up a set that was never sent: the sender's bug.
    await dataplane.send([policy(P, [rule("allow", { src_ip_set_ids: ["s:never"] })]), ...WORLD.slice(1)]);
    await died;
    assert.match(fatal[0]?.message ?? "", /IP set s:never/);
    await dataplane.send(WORLD);
    await dataplane.stop();
  });
});
