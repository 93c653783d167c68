import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { hostFiles } from "../file/host-files.ts";
import { FakeFiles } from "../testing/fake-files.ts";
import { FakeHost } from "../testing/fake-host.ts";
import { IN_SYNC, workload, workloadRemove } from "../testing/messages.ts";
import { StatusFiles, statusFileName } from "./status-files.ts";

const FIELDS = { mac: "ee:00:00:00:00:01", ipv4_nets: ["10.65.0.2/32"], ipv6_nets: ["fd65::2/128"] } as const;
const { endpoint, id } = workload("a", FIELDS);
const A = { id, endpoint };
const PATH = "/var/run/calico/endpoint-status/k8s default%2Fa eth0";
const TEXT =
  '{"ifaceName":"calia","mac":"ee:00:00:00:00:01","ipv4Nets":["10.65.0.2/32"],"ipv6Nets":["fd65::2/128"],"bgpPeerName":""}';

describe("statusFileName()", () => {
  const NAMES = [
    [{ orchestrator: "k8s", workload: "default/pod1", endpoint: "eth0" }, "k8s default%2Fpod1 eth0"],
    [{ orchestrator: "k 8", workload: "a%b;c,d?e", endpoint: "é" }, "k%208 a%25b%3Bc%2Cd%3Fe %C3%A9"],
    [{ orchestrator: "o", workload: "$&+=:@-_.~", endpoint: "!*'()" }, "o $&+=:@-_.~ %21%2A%27%28%29"],
  ] as const;
  for (const [parts, name] of NAMES) it(`gives "${name}"`, () => assert.equal(statusFileName(parts), name));
});

describe("StatusFiles", () => {
  let files: FakeFiles;
  let status: StatusFiles;
  beforeEach(() => {
    files = new FakeFiles();
    status = new StatusFiles("/var/run/calico/");
  });

  it("writes a file for each endpoint that is up, once, and again when it is another", () => {
    assert.deepEqual(status.apply(files, [A], 0), { failures: [], againAtMs: 10_000 });
    assert.deepEqual([...files.texts], [[PATH, TEXT]]);
    status.apply(files, [{ id, endpoint: { ...endpoint, tiers: [] } }], 1);
    assert.equal(files.writes.length, 1);
    status.apply(files, [{ id, endpoint: { ...endpoint, local_bgp_peer: { bgp_peer_name: "p" } } }], 2);
    assert.equal(files.texts.get(PATH), TEXT.replace('"bgpPeerName":""', '"bgpPeerName":"p"'));
  });

  it("removes the file of an endpoint that is up no more", () => {
    status.apply(files, [A], 0);
    status.apply(files, [], 1);
    assert.deepEqual([...files.texts], []);
  });

  it("removes unknown files at the start, and leaves those that are right", () => {
    files.write(PATH, TEXT);
    files.write("/var/run/calico/endpoint-status/k8s default%2Fgone eth0", "{}");
    status.apply(files, [A], 0);
    assert.deepEqual([...files.texts], [[PATH, TEXT]]);
    assert.equal(files.writes.length, 2);
  });

  it("looks at the directory every 10 s, and puts it right", () => {
    status.apply(files, [A], 0);
    files.texts.set(PATH, "something else");
    files.write(`${PATH}2`, "");
    status.apply(files, [A], 9999);
    assert.equal(files.texts.get(PATH), "something else");
    assert.equal(status.apply(files, [A], 10_000).againAtMs, 20_000);
    assert.deepEqual([...files.texts], [[PATH, TEXT]]);
    files.remove(PATH);
    status.apply(files, [A], 20_000);
    assert.equal(files.texts.get(PATH), TEXT);
  });

  it("tells of a failure, and tries again after 50 ms, doubling, 5 s at most", () => {
    files.isFull = true;
    const pauses: number[] = [];
    let nowMs = 0;
    for (let i = 0; i < 9; i++) {
      const { againAtMs = 0, failures } = status.apply(files, [A], nowMs);
      assert.match(failures[0] ?? "", /endpoint-status: no space left/);
      pauses.push(againAtMs - nowMs);
      nowMs = againAtMs;
    }
    assert.deepEqual(pauses, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    files.isFull = false;
    assert.deepEqual(status.apply(files, [A], nowMs), { failures: [], againAtMs: nowMs + 10_000 });
    assert.equal(files.texts.get(PATH), TEXT);
  });

  it("writes and removes all others, where one cannot be written or removed", () => {
    const other = { endpoint, id: { ...id, workload: "default/z" } };
    const directory = "/var/run/calico/endpoint-status";
    files.write(`${directory}/k8s long`, "{}");
    files.write(`${directory}/k8s stale`, "{}");
    files.refused = "long";
    const long = { endpoint, id: { ...id, workload: `default/long${"x".repeat(240)}` } };
    const { failures } = status.apply(files, [long, A, other], 0);
    assert.equal(failures.length, 2);
    assert.deepEqual([...files.texts.keys()].sort(), [
      PATH,
      `${directory}/k8s default%2Fz eth0`,
      `${directory}/k8s long`,
    ]);
    status.apply(files, [long, A], 50);
    assert.deepEqual([...files.texts.keys()].sort(), [PATH, `${directory}/k8s long`]);
  });

  it("E4: createDataplane() writes files once it is in sync, and takes them away", async () => {
    const host = new FakeHost();
    host.files.write("/run/x/endpoint-status/old", "{}");
    const dataplane = host.start({ EndpointStatusPathPrefix: "/run/x" });
    await host.send(dataplane, workload("a", FIELDS));
    await host.advance(1000);
    assert.deepEqual([...host.files.texts.keys()], ["/run/x/endpoint-status/old"]);
    await host.send(dataplane, IN_SYNC);
    await host.advance(1000);
    assert.deepEqual([...host.files.texts.keys()], [], "the interface is not there");
    host.routes.setLink(5, "calia");
    await host.advance(1000);
    assert.deepEqual([...host.files.texts], [["/run/x/endpoint-status/k8s default%2Fa eth0", TEXT]]);
    host.files.texts.clear();
    await host.advance(11_000);
    assert.equal(host.files.texts.size, 1);
    await host.send(dataplane, workloadRemove("a"));
    await host.advance(1000);
    assert.equal(host.files.texts.size, 0);
    await dataplane.stop();
  });

  it("createDataplane() writes the file of an endpoint after its routes; one that is refused holds it back no longer", async () => {
    const host = new FakeHost();
    host.routes.setLink(5, "calia");
    host.routes.failListings = true;
    const dataplane = host.start({ EndpointStatusPathPrefix: "/run/x" });
    await host.send(dataplane, workload("a", FIELDS), IN_SYNC);
    await host.advance(1000);
    assert.deepEqual([[...host.files.texts], host.status?.ready], [[], true]);
    host.routes.failWritesOf = "fd65::2/128";
    host.routes.failListings = false;
    await host.advance(11_000);
    assert.equal(host.routes.listing().length, 1);
    assert.deepEqual([...host.files.texts.values()], [TEXT]);
    await dataplane.stop();
  });
});

it("hostFiles() writes whole files for all to read, lists and removes them", () => {
  const folder = mkdtempSync(join(tmpdir(), "bulrush-files-"));
  try {
    const files = hostFiles();
    const directory = join(folder, "a/b");
    const path = join(directory, "k8s default%2Fa eth0");
    assert.deepEqual([files.list(directory), files.read(path)], [[], undefined]);
    files.write(path, "one");
    files.write(path, "two");
    assert.deepEqual(
      [files.read(path), files.list(directory), readdirSync(directory).length],
      ["two", ["k8s default%2Fa eth0"], 1],
    );
    assert.equal(readFileSync(path, "utf8"), "two");
    assert.equal(statSync(path).mode & 0o777, 0o644);
    files.remove(path);
    files.remove(path);
    assert.deepEqual(files.list(directory), []);
    assert.throws(() => files.read(directory), /EISDIR/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
