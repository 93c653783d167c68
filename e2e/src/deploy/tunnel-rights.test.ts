/** An agent's account with the rights of the overlay tunnel-addresses, and nothing else, on both groups of a real API server. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@bulrush/base";
import { openDatastoreWriter, reconcileTunnelAddresses } from "@bulrush/datastore";
import { CALICO_CRD_V1, CALICO_V3 } from "@bulrush/model";
import { skipWithoutKube } from "../kube/binaries.ts";
import { KubeServer } from "../kube/kube-server.ts";
import { buildKustomization } from "./kustomize.ts";
import { DEPLOY } from "./manifest.ts";
import { KUSTOMIZE } from "./variants.ts";

const LIMIT_MS = 120_000;
const RIGHTS: ReadonlySet<string> = new Set([
  "ServiceAccount",
  "Role",
  "RoleBinding",
  "ClusterRole",
  "ClusterRoleBinding",
]);

for (const apiVersion of [CALICO_V3, CALICO_CRD_V1]) {
  test(`tunnel addresses are taken, and given back, with the shipped rights (${apiVersion})`, {
    skip: skipWithoutKube(),
  }, async () => {
    await using kube = await KubeServer.start();
    const { admin } = kube;
    await admin.installCrds(join(DEPLOY, "crds", apiVersion.split("/")[0] ?? ""));
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system" } });
    for (const object of buildKustomization(join(KUSTOMIZE, "overlays", "tunnel-addresses")))
      if (RIGHTS.has(object.kind)) await admin.apply(object);
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } };
    await admin.create(node);
    const pool = {
      apiVersion,
      kind: "IPPool",
      metadata: { name: "p" },
      spec: { cidr: "10.10.0.0/24", blockSize: 26, vxlanMode: "Always", ipipMode: "Never", nodeSelector: "all()" },
    };
    await admin.create(pool);
    const token = await admin.tokenOf("kube-system", "bulrush-agent");
    const clock = systemClock({ keepAlive: true });
    const config = { type: "kubernetes", kubeconfig: [kube.kubeconfigFor("agent", token)] } as const;
    /** What the node says after a pass. A role takes a moment to be in force. */
    const pass = async (): Promise<string | undefined> => {
      for (const endMs = performance.now() + LIMIT_MS; ; ) {
        try {
          const writer = await openDatastoreWriter(config, { clock });
          try {
            const signal = AbortSignal.timeout(LIMIT_MS);
            await reconcileTunnelAddresses(writer, { node: "n1", signal, now: () => clock.nowMs() });
          } finally {
            await writer.close();
          }
          const { annotations = {} } = (await admin.get(node)).metadata as {
            readonly annotations?: Readonly<Record<string, string>>;
          };
          return annotations["projectcalico.org/IPv4VXLANTunnelAddr"];
        } catch (error) {
          if (performance.now() > endMs) throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    assert.match((await pass()) ?? "", /^10\.10\.0\.\d+$/);
    await admin.delete(pool);
    assert.equal(await pass(), undefined);
    for (const kind of ["IPAMBlock", "IPAMHandle"]) {
      const left = await admin.list(apiVersion, kind);
      const inUse = left.filter((object) => /"allocations":\[[^\]]*\d/.test(JSON.stringify(object)));
      assert.deepEqual(inUse, [], kind);
    }
  });
}
