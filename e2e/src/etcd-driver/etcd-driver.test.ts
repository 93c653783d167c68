import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { must } from "@bulrush/base";
import type { DatastoreDriver, DatastoreWriter } from "@bulrush/datastore";
import { revisionNumber } from "@bulrush/proto";
import { skipWithoutKube } from "../kube/binaries.ts";
import { EtcdServer } from "../kube/etcd-server.ts";
import { CertificateAuthority } from "../lab/certificates.ts";
import { TcpProxy } from "./tcp-proxy.ts";
import {
  calico,
  changes,
  codeOf,
  listAll,
  nextBookmark,
  openDriver,
  openWriter,
  set,
  soon,
  watchFrom,
} from "./world.ts";

describe("EtcdDriver on a real etcd", { skip: skipWithoutKube() }, () => {
  let etcd: EtcdServer;
  let writer: DatastoreWriter;
  const drivers: DatastoreDriver[] = [];
  const open = async (settings: object = {}): Promise<DatastoreDriver> => {
    const driver = await openDriver({ endpoints: [etcd.endpoint], ...settings });
    drivers.push(driver);
    return driver;
  };

  before(async () => {
    etcd = await EtcdServer.start();
    writer = await openWriter({ endpoints: [etcd.endpoint] });
  });
  after(async () => {
    await Promise.all(drivers.map((driver) => driver.close()));
    await writer.close();
    await etcd.stop();
  });

  const create = (...resources: readonly Parameters<DatastoreWriter["create"]>[0][]): Promise<unknown> =>
    Promise.all(resources.map((resource) => writer.create(resource, soon())));
  const remove = (kind: string, name: string, namespace = ""): Promise<void> =>
    writer.delete({ apiVersion: "projectcalico.org/v3", kind, namespace, name }, undefined, soon());

  test("list() gives one state in pages, whatever is written meanwhile", async () => {
    const names = Array.from({ length: 230 }, (_, i) => `page-${String(i).padStart(3, "0")}`);
    await create(...names.map((name) => set(name)));
    const driver = await open({ pageItems: 50 });
    const seen: string[] = [];
    let pages = 0;
    for await (const { items } of driver.list({ kind: "GlobalNetworkSet", revision: "0", signal: soon() })) {
      if (pages++ === 0) {
        await create(set("page-000a"), set("page-999"));
        await remove("GlobalNetworkSet", "page-200");
      }
      seen.push(...items.map((item) => item.name));
    }
    assert.equal(pages, 5);
    assert.deepEqual(seen, names);
    const { items } = await listAll(driver, "GlobalNetworkSet");
    assert.equal(items.length, 231);
  });

  // Servers tell from these whether they have read as far as the one that a client comes from.
  test("lists, events and bookmarks name revisions that servers can compare", async () => {
    const driver = await open({ watchIdleMs: 100 });
    await create(set("compared"));
    const { revision } = await listAll(driver, "GlobalNetworkSet");
    const listed = must(revisionNumber(revision), revision);
    const stream = await driver.watch({ kind: "GlobalNetworkSet", revision, signal: soon() });
    await remove("GlobalNetworkSet", "compared");
    const [event] = must(await stream.next(), "an event");
    assert.ok(event?.type === "deleted");
    assert.ok(must(revisionNumber(event.revision), event.revision) > listed);
    const bookmark = await nextBookmark(await driver.watch({ kind: "Tier", revision, signal: soon() }));
    assert.ok(must(revisionNumber(bookmark), bookmark) > listed);
  });

  test("list() whose state is compacted away between two pages is expired", async () => {
    const driver = await open({ pageItems: 50 });
    const list = async (): Promise<void> => {
      for await (const page of driver.list({ kind: "GlobalNetworkSet", revision: "0", signal: soon() })) {
        assert.ok(page.items.length > 0);
        await create(set(`later-${Math.random()}`));
        await etcd.compact();
      }
    };
    assert.equal(await codeOf(list()), "DATASTORE_EXPIRED");
  });

  test("watch() goes on from a list, in order, and from any event after it", async () => {
    const driver = await open();
    await create(calico("NetworkSet", "old", "ns"));
    const { items, revision } = await listAll(driver, "NetworkSet");
    assert.deepEqual(
      items.map((item) => item.name),
      ["old"],
    );
    const stream = await watchFrom(driver, "NetworkSet", revision);
    await create(calico("NetworkSet", "new", "ns"));
    await create(set("of-another-kind"));
    const first = await stream.next();
    stream.close();
    assert.ok(first?.[0]?.type === "added");
    await create(calico("NetworkSet", "newer", "ns"));
    await remove("NetworkSet", "old", "ns");
    const resumed = await watchFrom(driver, "NetworkSet", first[0].revision ?? "");
    assert.deepEqual(await changes(resumed, 2), ["added ns/newer", "deleted ns/old"]);
    resumed.close();
  });

  test("list() and watch() of a namespace and of a name tell of those only", async () => {
    const driver = await open();
    const { revision } = await listAll(driver, "StagedNetworkPolicy");
    const inA = await watchFrom(driver, "StagedNetworkPolicy", revision, { namespace: "a" });
    const named = await watchFrom(driver, "StagedNetworkPolicy", revision, { name: "x" });
    const one = await watchFrom(driver, "StagedNetworkPolicy", revision, { namespace: "a", name: "x" });
    for (const [namespace, name] of [
      ["a", "y"],
      ["ab", "x"],
      ["a", "x"],
      ["b", "x"],
    ] as const)
      await create(calico("StagedNetworkPolicy", name, namespace));
    assert.deepEqual(await changes(inA, 2), ["added a/y", "added a/x"]);
    assert.deepEqual(await changes(named, 3), ["added ab/x", "added a/x", "added b/x"]);
    assert.deepEqual(await changes(one, 1), ["added a/x"]);
    for (const stream of [inA, named, one]) stream.close();
    const listed = async (request: object): Promise<string[]> =>
      (await listAll(driver, "StagedNetworkPolicy", request)).items.map((item) => `${item.namespace}/${item.name}`);
    assert.deepEqual(await listed({ namespace: "a" }), ["a/x", "a/y"]);
    assert.deepEqual(await listed({ name: "x" }), ["a/x", "ab/x", "b/x"]);
    assert.deepEqual(await listed({ namespace: "b", name: "x" }), ["b/x"]);
  });

  test("watch() from a revision that is compacted away is expired", async () => {
    const driver = await open();
    const { revision } = await listAll(driver, "Tier");
    await create(calico("Tier", "compacted-a"), calico("Tier", "compacted-b"));
    await etcd.compact();
    const stream = await watchFrom(driver, "Tier", revision);
    assert.deepEqual(await changes(stream, 1), ["error DATASTORE_EXPIRED"]);
    assert.equal(await stream.next(), undefined);
  });

  test("bookmarks move a quiet watch on, so that a compaction does not make it list again", async () => {
    const driver = await open({ watchIdleMs: 50 });
    const { revision } = await listAll(driver, "BGPFilter");
    const stream = await watchFrom(driver, "BGPFilter", revision);
    await create(set("noise-1"), set("noise-2"));
    const newest = await etcd.revision();
    let reached = revision;
    while (Number.parseInt(reached, 10) < newest) reached = await nextBookmark(stream);
    stream.close();
    await etcd.compact();
    const resumed = await watchFrom(driver, "BGPFilter", reached);
    await create(calico("BGPFilter", "after"));
    assert.deepEqual(await changes(resumed, 1), ["added after"]);
    resumed.close();
  });

  test("a big answer comes in pieces, and no revision is ever cut", async () => {
    const driver = await open();
    const { revision } = await listAll(driver, "IPReservation");
    // Three keys a transaction, 0.4 MB each: pieces end at 2 MB, in the middle of one.
    const spec = { reservedCIDRs: ["10.0.0.0/8"], padding: "x".repeat(400_000) };
    const script = (tag: string): string => {
      const put = (n: number): string => {
        const value = JSON.stringify(calico("IPReservation", `${tag}-${n}`, "", spec));
        // The quotes of Go: etcdctl cuts what stands in single ones.
        return `put /calico/resources/v3/projectcalico.org/ipreservations/${tag}-${n} ${JSON.stringify(value)}`;
      };
      return `\n${put(1)}\n${put(2)}\n${put(3)}\n\n\n`;
    };
    for (let i = 0; i < 8; i++) await etcd.transaction(script(`t${i}`));
    const stream = await watchFrom(driver, "IPReservation", revision);
    let count = 0;
    let pieces = 0;
    while (count < 24) {
      const events = await stream.next();
      assert.ok(events !== undefined);
      assert.ok(events.every((event) => event.type === "added" && event.item.value !== undefined));
      assert.equal(events.length % 3, 0);
      count += events.length;
      pieces++;
    }
    assert.equal(count, 24);
    assert.ok(pieces > 1, `${pieces} pieces`);
    stream.close();
  });

  test("a server that stops speaking is noticed, and the driver goes on when it is back", async () => {
    const driver = await open({ watchIdleMs: 100, watchAnswerTimeoutMs: 200 });
    const { revision } = await listAll(driver, "BGPPeer");
    const stream = await watchFrom(driver, "BGPPeer", revision);
    etcd.daemon.pause();
    try {
      assert.deepEqual(await changes(stream, 1), ["error DATASTORE_TIMEOUT"]);
    } finally {
      etcd.daemon.resume();
    }
    await create(calico("BGPPeer", "after-pause"));
    const resumed = await watchFrom(driver, "BGPPeer", revision);
    assert.deepEqual(await changes(resumed, 1), ["added after-pause"]);
    resumed.close();
  });

  test("a connection that swallows everything is noticed", async () => {
    using proxy = await TcpProxy.start(etcd.port);
    const driver = await open({ endpoints: [proxy.endpoint], watchIdleMs: 100, watchAnswerTimeoutMs: 200 });
    const { revision } = await listAll(driver, "BGPPeer");
    const stream = await watchFrom(driver, "BGPPeer", revision);
    proxy.blackHole();
    assert.deepEqual(await changes(stream, 1), ["error DATASTORE_TIMEOUT"]);
    assert.equal(await codeOf(watchFrom(driver, "BGPPeer", revision)), "DATASTORE_TIMEOUT");
  });

  test("a server that is killed ends its watches, and gives the same revisions when it is back", async () => {
    const driver = await open();
    const { revision } = await listAll(driver, "HostEndpoint");
    const stream = await watchFrom(driver, "HostEndpoint", revision);
    await etcd.daemon.kill();
    assert.deepEqual(await changes(stream, 1), ["error DATASTORE_CONNECTION_REFUSED"]);
    assert.equal(await codeOf(listAll(driver, "HostEndpoint")), "DATASTORE_CONNECTION_REFUSED");
    assert.equal(await codeOf(driver.probe("Tier", soon())), "DATASTORE_CONNECTION_REFUSED");
    await etcd.daemon.restart();
    await driver.probe("Tier", soon());
    await create(calico("HostEndpoint", "after-restart"));
    const resumed = await watchFrom(driver, "HostEndpoint", revision);
    assert.deepEqual(await changes(resumed, 1), ["added after-restart"]);
    resumed.close();
  });

  test("a full list of profiles has the allow profile, a watch never", async () => {
    const driver = await open();
    await create(calico("Profile", "kns.default"));
    const { items, revision } = await listAll(driver, "Profile");
    assert.deepEqual(
      items.map((item) => [item.name, item.revision === "1"]),
      [
        ["kns.default", false],
        ["projectcalico-default-allow", true],
      ],
    );
    assert.equal((await listAll(driver, "Profile", { name: "kns.default" })).items.length, 1);
    const stream = await watchFrom(driver, "Profile", revision);
    await remove("Profile", "kns.default");
    assert.deepEqual(await changes(stream, 1), ["deleted kns.default"]);
    stream.close();
  });

  test("kinds that live only in Kubernetes are not found; migrations are none", async () => {
    const driver = await open();
    assert.equal(await codeOf(listAll(driver, "KubernetesService")), "DATASTORE_NOT_FOUND");
    const { items, revision } = await listAll(driver, "LiveMigration");
    assert.deepEqual(items, []);
    assert.match(revision, /^\d+@[0-9a-f]+$/);
  });

  test("keys that are none of the kind are named and do no harm", async () => {
    const driver = await open();
    await etcd.ctl("put", "/calico/resources/v3/projectcalico.org/caliconodestatuses/a/b", "{}");
    await create(calico("CalicoNodeStatus", "good"));
    const { items } = await listAll(driver, "CalicoNodeStatus");
    assert.deepEqual(
      items.map((item) => item.name),
      ["good"],
    );
    assert.match(driver.problems()[0]?.message ?? "", /caliconodestatuses\/a\/b/);
    await etcd.ctl("del", "/calico/resources/v3/projectcalico.org/caliconodestatuses/a/b");
    await listAll(driver, "CalicoNodeStatus");
    assert.deepEqual(driver.problems(), []);
  });

  test("a cluster that was set up anew behind the same address expires what was known", async () => {
    await using other = await EtcdServer.start();
    const driver = await open({ endpoints: [other.endpoint] });
    for (let i = 0; i < 5; i++) await other.ctl("put", "/x", String(i));
    const { revision } = await listAll(driver, "Tier");
    const atFive = revision.replace(/^\d+/, "6");
    await other.daemon.kill();
    await rm(join(other.directory, "data"), { recursive: true });
    await other.daemon.restart();
    const code = await codeOf(watchFrom(driver, "Tier", atFive));
    assert.ok(code === "DATASTORE_EXPIRED" || code === "DATASTORE_REVISION_TOO_LARGE", code);
    assert.deepEqual((await listAll(driver, "Tier")).items, []);
  });
});

describe("EtcdDriver on a real etcd with TLS", { skip: skipWithoutKube() }, () => {
  let etcd: EtcdServer;
  before(async () => {
    etcd = await EtcdServer.start({ tls: true });
  });
  after(() => etcd.stop());

  const tryWith = async (settings: object): Promise<string> => {
    const driver = await openDriver({ endpoints: [etcd.endpoint], ...settings });
    const code = await codeOf(driver.probe("Tier", soon()));
    await driver.close();
    return code;
  };

  test("files and texts of certificates open it", async () => {
    const { ca, cert, key } = etcd.tls ?? { ca: "", cert: "", key: "" };
    assert.equal(await tryWith({ caFile: ca, certFile: cert, keyFile: key }), "done");
    const pem = (file: string): string => readFileSync(file, "utf8");
    assert.equal(await tryWith({ caPem: pem(ca), certPem: pem(cert), keyPem: pem(key) }), "done");
    const bare = etcd.endpoint.replace("https://", "");
    assert.equal(await tryWith({ endpoints: [bare], caFile: ca, certFile: cert, keyFile: key }), "done");
  });

  test("without a certificate, with another CA or without TLS nobody gets in", async () => {
    const { ca, cert, key } = etcd.tls ?? { ca: "", cert: "", key: "" };
    const stranger = await CertificateAuthority.create("stranger");
    const identity = await stranger.issue({ commonName: "bulrush" });
    const refused = "DATASTORE_CONNECTION_REFUSED";
    assert.equal(await tryWith({ caFile: ca }), refused);
    const pem = (file: string): string => readFileSync(file, "utf8");
    assert.equal(await tryWith({ caPem: stranger.caPem, certPem: pem(cert), keyPem: pem(key) }), refused);
    assert.equal(await tryWith({ caPem: pem(ca), certPem: identity.certPem, keyPem: identity.keyPem }), refused);
    assert.equal(await tryWith({ endpoints: [etcd.endpoint.replace("https", "http")] }), refused);
    assert.equal(await tryWith({ caFile: join(etcd.directory, "none") }), "DATASTORE_BAD_CONFIG");
  });

  test("the certificate must be of the name or address of the endpoint", async () => {
    const { ca, cert, key } = etcd.tls ?? { ca: "", cert: "", key: "" };
    const files = { caFile: ca, certFile: cert, keyFile: key };
    assert.equal(await tryWith({ ...files, endpoints: [`https://localhost:${etcd.port}`] }), "done");
    using proxy = await TcpProxy.start(etcd.port, "127.0.0.2");
    const elsewhere = `https://127.0.0.2:${proxy.port}`;
    assert.equal(await tryWith({ ...files, endpoints: [elsewhere] }), "DATASTORE_CONNECTION_REFUSED");
  });
});

describe("EtcdDriver on a real etcd with users", { skip: skipWithoutKube() }, () => {
  let etcd: EtcdServer;
  before(async () => {
    etcd = await EtcdServer.start({ rootPassword: "secret", extraArgs: ["--auth-token-ttl=1"] });
    await etcd.ctl("role", "add", "reader");
    const tiers = "/calico/resources/v3/projectcalico.org/tiers/";
    await etcd.ctl("role", "grant-permission", "--prefix", "reader", "read", tiers);
    await etcd.ctl("user", "add", "bulrush:pw");
    await etcd.ctl("user", "grant-role", "bulrush", "reader");
  });
  after(() => etcd.stop());

  test("a user may what its role says", async () => {
    const driver = await openDriver({ endpoints: [etcd.endpoint], username: "bulrush", password: "pw" });
    const { revision } = await listAll(driver, "Tier");
    const stream = await watchFrom(driver, "Tier", revision);
    assert.equal(await codeOf(listAll(driver, "Node")), "DATASTORE_UNAUTHORIZED");
    assert.equal(await codeOf(watchFrom(driver, "Node", revision)), "DATASTORE_UNAUTHORIZED");
    stream.close();
    const writer = await openWriter({ endpoints: [etcd.endpoint], username: "bulrush", password: "pw" });
    assert.equal(await codeOf(writer.create(calico("Tier", "t"), soon())), "DATASTORE_UNAUTHORIZED");
    await writer.close();
    await driver.close();
  });

  test("a token that has become too old, or older than the users, is renewed", async () => {
    const driver = await openDriver({ endpoints: [etcd.endpoint], username: "bulrush", password: "pw" });
    await listAll(driver, "Tier");
    // Changes the revision of the users.
    await etcd.ctl("user", "add", "somebody:else");
    await listAll(driver, "Tier");
    // Simple tokens live in the memory of the server.
    await etcd.daemon.restart();
    await codeOf(listAll(driver, "Tier"));
    await listAll(driver, "Tier");
    await driver.close();
  });

  test("a wrong password, or none, is refused", async () => {
    for (const login of [{ username: "bulrush", password: "wrong" }, { username: "bulrush" }, {}]) {
      const driver = await openDriver({ endpoints: [etcd.endpoint], ...login });
      assert.equal(await codeOf(listAll(driver, "Tier")), "DATASTORE_UNAUTHORIZED");
      await driver.close();
    }
  });
});
