/** Everything that is shipped, on a real kube-apiserver: fields, values and references that it refuses, in a dry run. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { skipWithoutKube } from "../kube/binaries.ts";
import type { KubeObject } from "../kube/kube-admin.ts";
import { KubeServer } from "../kube/kube-server.ts";
import { buildKustomization } from "./kustomize.ts";
import { DEPLOY, identityOf } from "./manifest.ts";
import { KUSTOMIZE, variants } from "./variants.ts";
import { templateOf } from "./workload.ts";

/** Definitions that other projects own, as far as it takes to have their kinds. */
function foreign(group: string, version: string, kind: string): KubeObject {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, plural },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        },
      ],
    },
  };
}

const FOREIGN: readonly (readonly [group: string, version: string, kind: string])[] = [
  ["cert-manager.io", "v1", "Issuer"],
  ["cert-manager.io", "v1", "Certificate"],
  ["monitoring.coreos.com", "v1", "PodMonitor"],
  ["monitoring.coreos.com", "v1", "PrometheusRule"],
];

const OWN_PORTS = ["own-ports", buildKustomization(join(KUSTOMIZE, "own-ports"))] as const;

describe("deploy on a real API server", { skip: skipWithoutKube() }, () => {
  let kube: KubeServer;

  before(async () => {
    kube = await KubeServer.start();
    for (const group of ["projectcalico.org", "policy.networking.k8s.io"])
      await kube.admin.installCrds(join(DEPLOY, "crds", group));
    for (const [group, version, kind] of FOREIGN) {
      await kube.admin.create(foreign(group, version, kind));
      const path = `/apis/${group}/${version}/${kind.toLowerCase()}s`;
      for (const endMs = performance.now() + 120_000; (await kube.admin.request("GET", path)).status !== 200; ) {
        assert.ok(performance.now() < endMs, `${path} is not served`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    for (const name of ["kube-system", "calico-system", "policy"])
      await kube.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  });
  after(() => kube.stop());

  for (const [name, objects] of [...variants(), OWN_PORTS]) {
    test(`${name}: every object, and a pod of each template, is accepted`, async () => {
      for (const object of objects) {
        const made = await kube.admin.dryRun(object).catch((error: unknown) => {
          throw new Error(`${identityOf(object)}: ${(error as Error).message}`);
        });
        assert.equal(made.metadata.name, object.metadata.name);
        if (object.kind !== "Deployment" && object.kind !== "DaemonSet") continue;
        const { metadata, spec } = templateOf(object);
        const { namespace = "" } = object.metadata;
        const pod = { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, name: "one", namespace }, spec };
        const made2 = await kube.admin.dryRun(pod as unknown as KubeObject);
        const { priority } = made2["spec"] as { readonly priority: number };
        assert.ok(priority >= 2_000_000_000, "of the class that it names");
      }
    });
  }
});
