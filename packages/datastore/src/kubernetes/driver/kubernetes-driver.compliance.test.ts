import { systemClock } from "@bulrush/base";
import { type ComplianceServer, driverCompliance } from "../testing/driver-compliance.ts";
import { FakeApiServer } from "../testing/fake-api-server.ts";
import type { StoredObject } from "../testing/fake-objects.ts";
import { KubernetesDriver } from "./kubernetes-driver.ts";

const CRDS = "/apis/crd.projectcalico.org/v1";

async function start(minor: string): Promise<ComplianceServer> {
  const server = new FakeApiServer();
  server.minor = minor;
  server.served.delete(`${CRDS}/caliconodestatuses`);
  server.forbidden.add(`${CRDS}/ipreservations`);
  await server.start();
  return {
    open: (options = {}) =>
      KubernetesDriver.open(
        { type: "kubernetes", kubeconfigInline: server.kubeconfig(), ...options },
        { clock: systemClock({ keepAlive: true }) },
      ),
    put: (object: StoredObject) => Promise.resolve(void server.put(object)),
    remove: (object) => Promise.resolve(server.remove(object)),
    forgetServices: () => Promise.resolve(server.objects.compact()),
    stop: () => server.stop(),
  };
}

driverCompliance("a fake server that streams lists", () => start("36"));
driverCompliance("a fake server that does not", () => start("28"));
