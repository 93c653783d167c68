import { join } from "node:path";
import { systemClock } from "@bulrush/base";
import { openDatastoreWriter } from "@bulrush/datastore";
import { writerCompliance, type WriterServer } from "@bulrush/datastore/testing";
import { skipWithoutKube } from "../kube/binaries.ts";
import { KubeServer } from "../kube/kube-server.ts";

const CRDS = join(import.meta.dirname, "..", "..", "..", "deploy", "crds", "crd.projectcalico.org");

async function start(): Promise<WriterServer> {
  const server = await KubeServer.start();
  const { admin } = server;
  await admin.installCrds(CRDS);
  await admin.delete({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "bgpfilters.crd.projectcalico.org" },
  });
  return {
    openWriter: () =>
      openDatastoreWriter(
        { type: "kubernetes", kubeconfig: [server.kubeconfig] },
        { clock: systemClock({ keepAlive: true }) },
      ),
    read: async (object) => (await admin.get(object)) as Awaited<ReturnType<WriterServer["read"]>>,
    create: async (object) => {
      await admin.create(object);
    },
    stop: () => server.stop(),
  };
}

writerCompliance("a real kube-apiserver", start, { skip: skipWithoutKube() });
