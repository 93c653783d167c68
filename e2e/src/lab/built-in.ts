import { BUILT_IN_TIERS, CALICO_V3, type Resource } from "@bulrush/model";

/** What an initialised datastore has before anybody writes to it, unless `resources` say otherwise. */
export function withBuiltIn(resources: readonly Resource[]): Resource[] {
  const known = new Set(resources.map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.name}`));
  const tiers = Object.entries(BUILT_IN_TIERS).map(
    ([name, spec]): Resource => ({ apiVersion: CALICO_V3, kind: "Tier", metadata: { name }, spec }),
  );
  const information: Resource = {
    apiVersion: CALICO_V3,
    kind: "ClusterInformation",
    metadata: { name: "default" },
    spec: { datastoreReady: true },
  };
  const missing = [...tiers, information].filter(
    ({ apiVersion, kind, metadata }) => !known.has(`${apiVersion} ${kind} ${metadata.name}`),
  );
  return [...missing, ...resources];
}
