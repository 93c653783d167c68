/** deploy/crds on a real kube-apiserver. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { applyDefaults, CALICO_CRD_V1, CALICO_V3, type Resource, validateResource } from "@bulrush/model";
import { skipWithoutKube } from "../kube/binaries.ts";
import { KubeAdmin, type KubeObject, type KubeRefusal } from "../kube/kube-admin.ts";
import { KubeServer } from "../kube/kube-server.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const CRDS = join(ROOT, "deploy", "crds");
const NAMESPACE = "crd";

function readJson<T>(...path: readonly string[]): T {
  return JSON.parse(readFileSync(join(ROOT, ...path), "utf8")) as T;
}

/** Objects as Calico's own clients write them. */
const UPSTREAM = readJson<readonly KubeObject[]>("e2e", "testdata", "crd", "upstream.json");

interface RuleRow {
  readonly valid: boolean;
  readonly resource: KubeObject;
}

interface AcceptanceRow {
  readonly row: string;
  readonly resource?: KubeObject;
  readonly server?: "accepts" | "refuses";
}

/** What our definitions refuse, which is what validation refuses. */
const RULES = readJson<readonly RuleRow[]>("e2e", "testdata", "crd", "rules.json");
const ACCEPTANCE = readJson<readonly AcceptanceRow[]>("packages", "model", "testdata", "acceptance", "validation.json");

/** The same object in the other group, where its kind is there too. */
function inGroup(object: KubeObject, apiVersion: string): KubeObject {
  return object.apiVersion === CALICO_CRD_V1 || object.apiVersion === CALICO_V3 ? { ...object, apiVersion } : object;
}

/** What an author wrote of it: without what a server adds. */
function written({ metadata, ...rest }: KubeObject): unknown {
  const { uid: _u, resourceVersion: _r, creationTimestamp: _c, generation: _g, managedFields: _m, ...own } = metadata;
  return { ...rest, metadata: own };
}

function nameOf({ kind, metadata, apiVersion }: KubeObject): string {
  return `${apiVersion} ${kind} ${(metadata.name ?? "").slice(0, 60)}`;
}

for (const object of UPSTREAM) {
  test(`validation names in ${nameOf(object)} only what it does not know`, () => {
    for (const { path, message } of validateResource(object as unknown as Resource))
      assert.match(message, /^Unknown field/, path);
  });
}

describe("deploy/crds", { skip: skipWithoutKube() }, () => {
  let kube: KubeServer;
  const installed: string[] = [];

  before(async () => {
    kube = await KubeServer.start();
    await kube.admin.createNamespace(NAMESPACE);
    for (const group of readdirSync(CRDS)) installed.push(...(await kube.admin.installCrds(join(CRDS, group))));
  });
  after(() => kube.stop());

  test("every definition is established, with a structural schema and its names", async () => {
    const definitions = await kube.admin.list("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    assert.deepEqual(definitions.map(({ metadata }) => metadata.name ?? "").sort(), [...installed].sort());
    assert.equal(installed.length, 45);
    for (const { metadata, status } of definitions) {
      const { conditions } = status as { conditions: readonly { type: string; status: string; message: string }[] };
      for (const { type, status: holds, message } of conditions) {
        if (type === "KubernetesAPIApprovalPolicyConformant") continue;
        assert.equal(holds, type === "NonStructuralSchema" ? "False" : "True", `${metadata.name} ${type}: ${message}`);
      }
    }
  });

  test("there is an object of each kind as upstream writes it", async () => {
    const definitions = await kube.admin.list("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    const kinds = definitions.map(({ spec }) => (spec as { readonly names: { readonly kind: string } }).names.kind);
    assert.deepEqual([...new Set(kinds)].sort(), [...new Set(UPSTREAM.map(({ kind }) => kind))].sort());
  });

  for (const object of UPSTREAM) {
    test(`${nameOf(object)} reads back as it was written`, async () => {
      const { status, ...rest } = object;
      await kube.admin.create(rest as KubeObject);
      if (status !== undefined) await kube.admin.patch(object, { status }, "status");
      const stored = await kube.admin.get(object);
      assert.deepEqual(written(stored), object);
      // Nothing is lost by an update either, and the status is not part of it.
      await kube.admin.replace({ ...stored, ...(status !== undefined && { status: {} }) });
      assert.deepEqual(written(await kube.admin.get(object)), object);
    });
  }

  test("a condition that we do not know is not cut off", async () => {
    const policy: KubeObject = {
      apiVersion: CALICO_V3,
      kind: "GlobalNetworkPolicy",
      metadata: { name: "newer" },
      spec: {
        tier: "default",
        ingress: [{ action: "Allow", source: { nets: ["10.0.0.0/8"], region: { in: ["eu"] } }, when: "night" }],
      },
    };
    await kube.admin.create(policy);
    assert.deepEqual((await kube.admin.get(policy))["spec"], policy["spec"]);
  });

  const DEFAULTS: readonly (readonly [object: KubeObject, spec: object])[] = [
    [
      { apiVersion: CALICO_V3, kind: "IPPool", metadata: { name: "bare" }, spec: { cidr: "10.9.0.0/16" } },
      // The size of a block depends on the family, which a schema does not see.
      { blockSize: undefined },
    ],
    [
      {
        apiVersion: CALICO_V3,
        kind: "NetworkPolicy",
        metadata: { name: "bare", namespace: NAMESPACE },
        spec: { types: ["Ingress"] },
      },
      {},
    ],
    [
      {
        apiVersion: CALICO_V3,
        kind: "StagedGlobalNetworkPolicy",
        metadata: { name: "bare" },
        spec: { stagedAction: "Delete" },
      },
      {},
    ],
  ];
  for (const [object, beside] of DEFAULTS) {
    for (const apiVersion of [CALICO_CRD_V1, CALICO_V3]) {
      test(`a bare ${object.kind} of ${apiVersion} is given the defaults that every driver gives`, async () => {
        const bare = inGroup(object, apiVersion);
        await kube.admin.create(bare);
        const { spec } = await kube.admin.get(bare);
        const wanted = { ...(applyDefaults(object as unknown as Resource).spec as object), ...beside };
        assert.deepEqual(spec, JSON.parse(JSON.stringify(wanted)));
      });
    }
  }

  test("the network and the block size of a pool cannot be changed", async () => {
    const pool: KubeObject = {
      apiVersion: CALICO_V3,
      kind: "IPPool",
      metadata: { name: "fixed" },
      spec: { cidr: "10.10.0.0/16", blockSize: 26 },
    };
    await kube.admin.create(pool);
    await kube.admin.patch(pool, { spec: { natOutgoing: true } });
    await assert.rejects(kube.admin.patch(pool, { spec: { cidr: "10.11.0.0/16" } }), /cidr cannot be changed/);
    await assert.rejects(kube.admin.patch(pool, { spec: { blockSize: 27 } }), /blockSize cannot be changed/);
    await assert.rejects(kube.admin.patch(pool, { spec: { blockSize: null } }), /blockSize cannot be changed/);
  });

  /** Whether the server takes a new object, and what it says if not. */
  async function refusal(object: KubeObject): Promise<string | undefined> {
    await kube.admin.delete(object);
    try {
      await kube.admin.create(object);
    } catch (error) {
      return (error as Error).message;
    }
    await kube.admin.delete(object);
    return undefined;
  }

  test("the role of Typha lets its account list what it names, and change nothing", async () => {
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    const role = readFileSync(join(ROOT, "deploy", "rbac", "typha-role.yaml"), "utf8");
    assert.equal((await kube.admin.request("POST", `${rbac}/clusterroles`, role, "application/yaml")).status, 201);
    const account: KubeObject = {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "typha", namespace: NAMESPACE },
    };
    await kube.admin.create(account);
    await kube.admin.create({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "typha" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "bulrush-typha" },
      subjects: [{ kind: "ServiceAccount", name: "typha", namespace: NAMESPACE }],
    });
    const token = await kube.admin.tokenOf(NAMESPACE, "typha");
    const typha = new KubeAdmin({ url: kube.url, caPem: kube.files.caPem, token });
    try {
      const crds = installed.filter((name) => !/^(?:ipamconfig|ipamhandle|ipreservation|kubecontrollers)/.test(name));
      const versions: Readonly<Record<string, string>> = {
        "crd.projectcalico.org": "v1",
        "projectcalico.org": "v3",
        "policy.networking.k8s.io": "v1alpha2",
      };
      const paths = crds.map((name) => {
        const [plural = "", ...group] = name.split(".");
        return `/apis/${group.join(".")}/${versions[group.join(".")]}/${plural}`;
      });
      paths.push("/api/v1/pods", "/api/v1/nodes", "/api/v1/namespaces", "/api/v1/serviceaccounts", "/api/v1/services");
      paths.push("/apis/networking.k8s.io/v1/networkpolicies", "/apis/discovery.k8s.io/v1/endpointslices");
      for (const path of paths) {
        assert.equal((await typha.request("GET", path)).status, 200, path);
        assert.equal((await typha.request("DELETE", path)).status, 403, path);
      }
      const set = { apiVersion: CALICO_V3, kind: "GlobalNetworkSet", metadata: { name: "mine" }, spec: {} };
      await assert.rejects(typha.create(set), (error: KubeRefusal) => error.status === 403);
      assert.equal((await typha.request("GET", "/api/v1/secrets")).status, 403);
    } finally {
      typha.close();
    }
  });

  for (const apiVersion of [CALICO_CRD_V1, CALICO_V3]) {
    for (const { row, resource, server } of ACCEPTANCE) {
      if (resource === undefined || server === undefined) continue;
      const object = inGroup(resource, apiVersion);
      const { metadata } = object;
      const placed =
        metadata.namespace === undefined ? object : { ...object, metadata: { ...metadata, namespace: NAMESPACE } };
      test(`${row}: the server ${server} ${nameOf(placed)}`, async () => {
        const found = await refusal(placed);
        assert.equal(found === undefined, server === "accepts", found);
      });
    }
    for (const { resource, valid } of RULES) {
      const object = inGroup(resource, apiVersion);
      if (object === resource && apiVersion === CALICO_CRD_V1) continue;
      test(`the server and validation ${valid ? "accept" : "refuse"} ${nameOf(object)}`, async () => {
        const issues = validateResource(applyDefaults(resource as unknown as Resource));
        assert.equal(issues.length === 0, valid, JSON.stringify(issues));
        const found = await refusal(object);
        assert.equal(found === undefined, valid, found);
      });
    }
  }
});
