/** NetworkPolicies of all sorts: validation says of each what a real kube-apiserver says. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { applyDefaults, type Resource, validateResource } from "@bulrush/model";
import { skipWithoutKube } from "../kube/binaries.ts";
import { KubeServer } from "../kube/kube-server.ts";

interface Row {
  readonly server: "accepts" | "refuses";
  readonly spec: unknown;
}

const FILE = join(import.meta.dirname, "..", "..", "testdata", "crd", "network-policies.json");
const ROWS = JSON.parse(readFileSync(FILE, "utf8")) as readonly Row[];
const NAMESPACE = "policies";

function policy(i: number, spec: unknown): Resource {
  const metadata = { name: `p${i}`, namespace: NAMESPACE };
  return { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata, spec };
}

for (const [i, { server, spec }] of ROWS.entries()) {
  test(`validation ${server} ${JSON.stringify(spec).slice(0, 120)}`, () => {
    const issues = validateResource(applyDefaults(policy(i, spec)));
    assert.equal(issues.length === 0 ? "accepts" : "refuses", server, JSON.stringify(issues));
  });
}

describe("a kube-apiserver", { skip: skipWithoutKube() }, () => {
  let kube: KubeServer;

  before(async () => {
    kube = await KubeServer.start();
    await kube.admin.createNamespace(NAMESPACE);
  });
  after(() => kube.stop());

  for (const [i, { server, spec }] of ROWS.entries()) {
    test(`${server} ${JSON.stringify(spec).slice(0, 120)}`, async () => {
      const created = kube.admin.create(policy(i, spec) as Parameters<typeof kube.admin.create>[0]);
      if (server === "accepts") await created;
      else await assert.rejects(created, /: (?:400|422) /);
    });
  }
});
