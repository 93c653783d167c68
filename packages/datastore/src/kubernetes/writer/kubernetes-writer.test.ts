import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { FakeApiServer, status } from "../testing/fake-api-server.ts";
import { writerCompliance } from "../testing/writer-compliance.ts";
import { KubernetesWriter } from "./kubernetes-writer.ts";

function openWriter(server: FakeApiServer): Promise<KubernetesWriter> {
  const config = { type: "kubernetes", kubeconfigInline: server.kubeconfig() } as const;
  return KubernetesWriter.open(config, { clock: new ManualClock() });
}

writerCompliance("a fake server", async () => {
  const server = new FakeApiServer();
  server.served.delete("/apis/crd.projectcalico.org/v1/bgpfilters");
  await server.start();
  return {
    openWriter: () => openWriter(server),
    read: (object) => {
      const { name, namespace } = object.metadata;
      const found = server.objects
        .list(server.rootOf(object))
        .find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
      assert.ok(found !== undefined);
      return Promise.resolve(found);
    },
    create: (object) => Promise.resolve(void server.put(object)),
    stop: () => server.stop(),
  };
});

test("legacyVersion() tells the version of a Calico before version 3", async (t) => {
  const server = new FakeApiServer();
  await server.start();
  const writer = await openWriter(server);
  t.after(async () => {
    await writer.close();
    await server.stop();
  });
  server.faults.push((request, answer) => {
    if (request.path !== "/apis/crd.projectcalico.org/v1/globalconfigs") return undefined;
    const items = [
      { spec: { name: "ClusterGUID", value: "x" } },
      { spec: { name: "CalicoVersion", value: "v2.6.12" } },
    ];
    answer.end(JSON.stringify({ items }));
    return true;
  });
  assert.equal(await writer.legacyVersion(new AbortController().signal), "v2.6.12");
  server.faults.splice(0, 1, (request, answer) => {
    if (request.method === "GET") return undefined;
    status(answer, 422, "Invalid", 'NetworkPolicy "x" is invalid: spec.order: Invalid value: "string"');
    return true;
  });
  const pool = { apiVersion: "projectcalico.org/v3", kind: "IPPool", metadata: { name: "p" }, spec: {} };
  await assert.rejects(writer.create(pool, new AbortController().signal), {
    code: "DATASTORE_INVALID",
    message: /spec\.order/,
  });
});
