import { join } from "node:path";
import { systemClock } from "@bulrush/base";
import { openDatastore } from "@bulrush/datastore";
import { COMPLIANCE_SETUP, type ComplianceServer, driverCompliance } from "@bulrush/datastore/testing";
import { skipWithoutKube } from "../kube/binaries.ts";
import type { KubeObject } from "../kube/kube-admin.ts";
import { KubeRefusal } from "../kube/kube-admin.ts";
import { KubeServer } from "../kube/kube-server.ts";
import { ShippedRole } from "./shipped-role.ts";

const CRDS = join(import.meta.dirname, "..", "..", "..", "deploy", "crds", "crd.projectcalico.org");

/** The suite of the driver on a real API server, with the shipped role of Typha. */
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
  // No syncer reads IPReservation, the kind that the suite wants forbidden: the role does not have it.
  const kubeconfig = server.kubeconfigFor("reader", (await ShippedRole.install(admin)).token);
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

driverCompliance("a real kube-apiserver, with the shipped role", start, { skip: skipWithoutKube() });
