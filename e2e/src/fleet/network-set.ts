import { createHash } from "node:crypto";
import type { Resource } from "@bulrush/model";

const NETS = 10;

/**
 * A network set whose contents `version` makes: nets that have nothing in common, so that they take as much room on the
 * wire as a cluster's real ones.
 */
export function networkSet(name: string, version: number): Resource {
  const bytes = createHash("sha256").update(`${name} ${version}`).digest();
  const nets = Array.from({ length: NETS }, (_, i) => `10.${bytes[3 * i]}.${bytes[3 * i + 1]}.${bytes[3 * i + 2]}/32`);
  return {
    apiVersion: "projectcalico.org/v3",
    kind: "GlobalNetworkSet",
    metadata: { name, labels: { version: `v${version}` } },
    spec: { nets },
  } as unknown as Resource;
}
