import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { systemClock } from "@bulrush/base";
import { openStatusStore, type StatusStore } from "@bulrush/datastore";
import { skipWithoutKube } from "../kube/binaries.ts";
import { EtcdServer } from "../kube/etcd-server.ts";
import { soon } from "./world.ts";

const HOST = "/calico/felix/v2/no-region/host/h/";

describe("the statuses of a real etcd", { skip: skipWithoutKube() }, () => {
  let etcd: EtcdServer;
  let store: StatusStore;
  before(async () => {
    etcd = await EtcdServer.start();
    const opened = await openStatusStore(
      { type: "etcdv3", endpoints: [etcd.endpoint] },
      { clock: systemClock({ keepAlive: true }) },
    );
    assert.ok(opened !== undefined);
    store = opened;
  });
  after(async () => {
    await store.close();
    await etcd.stop();
  });

  test("put() and delete() write one key whatever it says, list() gives what is below a prefix", async () => {
    await store.put(`${HOST}status`, "1", soon());
    await store.put(`${HOST}status`, "2", soon());
    await store.put(`${HOST}endpoint/eth0`, "up", soon());
    await store.put("/calico/felix/v2/no-region/host/h2/status", "other", soon());
    assert.deepEqual(
      await store.list(HOST, soon()),
      new Map([
        [`${HOST}endpoint/eth0`, "up"],
        [`${HOST}status`, "2"],
      ]),
    );
    await store.delete(`${HOST}endpoint/eth0`, soon());
    await store.delete(`${HOST}endpoint/eth0`, soon());
    assert.deepEqual([...(await store.list(HOST, soon())).keys()], [`${HOST}status`]);
    assert.equal((await etcd.ctl("get", `${HOST}status`, "--print-value-only")).trim(), "2");
  });

  test("put() with an end has a lease, and one without it takes it away", async () => {
    const leaseOf = async (): Promise<unknown> => {
      const text = await etcd.ctl("get", `${HOST}status`, "-w", "json");
      return (JSON.parse(text) as { kvs: readonly { lease?: number }[] }).kvs[0]?.lease ?? 0;
    };
    await store.put(`${HOST}status`, "3", soon(), 90);
    assert.notEqual(await leaseOf(), 0);
    await store.put(`${HOST}status`, "4", soon());
    assert.equal(await leaseOf(), 0);
  });
});

test("a directory and the Kubernetes API have no place for statuses", async () => {
  const clock = systemClock();
  assert.equal(await openStatusStore({ type: "kubernetes" }, { clock }), undefined);
  assert.equal(await openStatusStore({ type: "file", directory: "/nowhere" }, { clock }), undefined);
});
