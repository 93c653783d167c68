import { join } from "node:path";
import { systemClock } from "@bulrush/base";
import { openDatastore } from "@bulrush/datastore";
import { COMPLIANCE_SETUP, type ComplianceServer, driverCompliance } from "@bulrush/datastore/testing";
import { skipWithoutKube } from "../kube/binaries.ts";
import type { KubeObject } from "../kube/kube-admin.ts";
import { KubeRefusal } from "../kube/kube-admin.ts";
import { KubeServer } from "../kube/kube-server.ts";
import { createReader } from "./reader-role.ts";

const CRDS = join(import.meta.dirname, "..", "..", "..", "deploy", "crds", "crd.projectcalico.org");

/** The suite of the driver on a real API server, with a service account that may only get, list and watch. */
async function start(): Promise<ComplianceServer> {
  // Without a watch cache, so that a compaction of etcd is felt at once.
  const server = await KubeServer.start({ uncached: ["services"] });
  const { admin } = server;
  await admin.installCrds(CRDS);
  const missing = `${COMPLIANCE_SETUP.missing.toLowerCase()}es.crd.projectcalico.org`;
  await admin.delete({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: missing },
  });
  const kubeconfig = server.kubeconfigFor("reader", await createReader(admin, { without: ["ipreservations"] }));
  const put = async (object: KubeObject): Promise<void> => {
    try {
      await admin.create(object);
    } catch (error) {
      if (!(error instanceof KubeRefusal && error.status === 409)) throw error;
      await admin.apply(object);
    }
  };
  return {
    open: (options = {}) =>
      openDatastore(
        { type: "kubernetes", kubeconfig: [kubeconfig], ...options },
        { clock: systemClock({ keepAlive: true }) },
      ),
    put,
    remove: async (object) => {
      await admin.delete(object);
    },
    forgetServices: async () => {
      await server.etcd.compact();
    },
    stop: () => server.stop(),
  };
}

driverCompliance("a real kube-apiserver, as a reader", start, { skip: skipWithoutKube() });
