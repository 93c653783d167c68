import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "../kube/kube-admin.ts";
import { renderChart } from "./chart.ts";
import { buildKustomization } from "./kustomize.ts";
import { DEPLOY, type JsonMap } from "./manifest.ts";

export const KUSTOMIZE: string = join(DEPLOY, "kustomize");

/** The chart's values that ask for each of its parts. */
export const CHART_VALUES: Readonly<Record<string, JsonMap>> = {
  "chart, as it comes": {},
  "chart, everything on": {
    certs: { from: "cert-manager" },
    typha: { ladder: { enabled: true }, extraEnv: [{ name: "TYPHA_MAXCONNECTIONSLOWERLIMIT", value: "100" }] },
    agent: { wireguard: true, tunnelAddresses: true },
    monitoring: { enabled: true, operator: true },
    ownPorts: { enabled: true, nodes: ["192.0.2.0/24"], monitoring: ["198.51.100.7/32"] },
  },
  "chart, certificates from values": {
    certs: { from: "values", typha: { cert: "C", key: "K", caBundle: "A\nB\n" }, node: { cert: "c", key: "k" } },
    agent: { policyOnly: true, interfacePrefix: "eni" },
    typha: {
      ladder: {
        enabled: true,
        nodesToReplicas: [
          [1, 1],
          [100, 3],
        ],
      },
    },
  },
};

/** Everything that is shipped, by how it is made. */
export function variants(): ReadonlyMap<string, readonly KubeObject[]> {
  const overlays = readdirSync(join(KUSTOMIZE, "overlays")).sort();
  const directories = ["base", ...overlays.map((name) => join("overlays", name))];
  return new Map([
    ...directories.map((name) => [name, buildKustomization(join(KUSTOMIZE, name))] as const),
    ...Object.entries(CHART_VALUES).map(([name, values]) => [name, renderChart(values, "policy")] as const),
  ]);
}
