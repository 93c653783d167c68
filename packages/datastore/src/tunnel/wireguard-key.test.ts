import assert from "node:assert/strict";
import { test } from "node:test";
import { CALICO_V3 } from "@bulrush/model";
import { type MemoryWriter, memoryWriter } from "../testing/memory-writer.ts";
import { publishWireguardKey } from "./wireguard-key.ts";

const { signal } = new AbortController();

function world(status?: object): MemoryWriter {
  const writer = memoryWriter({ type: "file" });
  const spec = { bgp: { ipv4Address: "192.0.2.1/24" } };
  writer.put({ apiVersion: CALICO_V3, kind: "Node", metadata: { name: "n1" }, spec, ...(status && { status }) });
  return writer;
}

const publish = (writer: MemoryWriter, family: 4 | 6, publicKey: string, node = "n1"): Promise<boolean> =>
  publishWireguardKey(writer, { node, family, publicKey, signal });

test("publishWireguardKey() writes the key of a family, and leaves all else as it is", async () => {
  const writer = world({ wireguardPublicKeyV6: "six", podCIDRs: ["10.0.0.0/26"] });
  assert.equal(await publish(writer, 4, "four"), true);
  const node = writer.find("Node", "n1");
  assert.deepEqual(node?.["status"], {
    wireguardPublicKey: "four",
    wireguardPublicKeyV6: "six",
    podCIDRs: ["10.0.0.0/26"],
  });
  assert.deepEqual(node?.spec, { bgp: { ipv4Address: "192.0.2.1/24" } });
  assert.equal(await publish(writer, 6, "other"), true);
  assert.deepEqual(Object(writer.find("Node", "n1")?.["status"]).wireguardPublicKeyV6, "other");
});

test("publishWireguardKey() writes nothing where the node says so already, and takes a key away", async () => {
  const writer = world({ wireguardPublicKey: "four" });
  assert.equal(await publish(writer, 4, "four"), false);
  assert.equal(await publish(writer, 6, ""), false);
  assert.deepEqual(
    writer.calls.filter((call) => call.startsWith("update")),
    [],
  );
  assert.equal(await publish(writer, 4, ""), true);
  assert.deepEqual(writer.find("Node", "n1")?.["status"], {});
});

test("publishWireguardKey() of a node that is not there says so", async () => {
  await assert.rejects(publish(world(), 4, "four", "n2"), { code: "DATASTORE_NOT_FOUND" });
});

test("publishWireguardKey() works on what others have written meanwhile", async () => {
  const writer = memoryWriter({
    type: "file",
    fails: { "update Node n1": "DATASTORE_CONFLICT" },
    onFailure: (failing) =>
      failing.put({
        apiVersion: CALICO_V3,
        kind: "Node",
        metadata: { name: "n1" },
        spec: { addresses: [] },
        status: { wireguardPublicKeyV6: "new" },
      }),
  });
  writer.put({ apiVersion: CALICO_V3, kind: "Node", metadata: { name: "n1" }, spec: {} });
  assert.equal(await publish(writer, 4, "four"), true);
  assert.deepEqual(writer.find("Node", "n1")?.["status"], { wireguardPublicKey: "four", wireguardPublicKeyV6: "new" });
});
