/** The kinds of calicoctl before version 3, all of `apiVersion: v1`; a lower-case `node` is no Node. */
const LEGACY_KINDS: ReadonlySet<string> = new Set([
  "bgpPeer",
  "hostEndpoint",
  "ipPool",
  "node",
  "policy",
  "profile",
  "workloadEndpoint",
]);

/** What is to be said of an object in the form of calicoctl before version 3; undefined for any other. */
export function legacyKindProblem(apiVersion: string, kind: string): string | undefined {
  if (apiVersion !== "v1" || !LEGACY_KINDS.has(kind)) return undefined;
  return `"${kind}" is of Calico's v1 API, which is not read; "calicoctl convert" makes v3 of it`;
}
