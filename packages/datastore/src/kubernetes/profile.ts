import {
  CALICO_V3,
  NAME_LABEL,
  NAMESPACE_LABEL_PREFIX,
  NAMESPACE_PROFILE_PREFIX,
  type ProfileResource,
  type Resource,
  type ResourceMetadata,
  SERVICE_ACCOUNT_LABEL_PREFIX,
  SERVICE_ACCOUNT_PROFILE_PREFIX,
} from "@bulrush/model";

/** What a profile of the name is made from, or undefined for a name that is neither. */
export function parseProfileName(
  name: string,
): { readonly namespace: string; readonly serviceAccount?: string } | undefined {
  if (name.startsWith(NAMESPACE_PROFILE_PREFIX)) return { namespace: name.slice(NAMESPACE_PROFILE_PREFIX.length) };
  if (!name.startsWith(SERVICE_ACCOUNT_PROFILE_PREFIX)) return undefined;
  // A namespace has no dot, a service account may.
  const [, namespace = "", serviceAccount = ""] =
    /^([^.]+)\.(.+)$/.exec(name.slice(SERVICE_ACCOUNT_PROFILE_PREFIX.length)) ?? [];
  return namespace === "" ? undefined : { namespace, serviceAccount };
}

function metadataOf(name: string, { metadata }: Resource): ResourceMetadata {
  return {
    name,
    ...(metadata.uid !== undefined && { uid: metadata.uid }),
    ...(metadata.resourceVersion !== undefined && { resourceVersion: metadata.resourceVersion }),
    ...(metadata.creationTimestamp !== undefined && { creationTimestamp: metadata.creationTimestamp }),
  };
}

/** The labels of a resource under a prefix, and its name as one more. */
function prefixed(prefix: string, { metadata }: Resource): Record<string, string> {
  const out = Object.entries(metadata.labels ?? {}).map(([name, value]) => [prefix + name, value] as const);
  return Object.fromEntries([...out, [prefix + NAME_LABEL, metadata.name]]);
}

/** A Namespace as the profile of all its pods: its labels, and everything allowed that no policy stops. */
export function convertNamespace(namespace: Resource): ProfileResource {
  return {
    apiVersion: CALICO_V3,
    kind: "Profile",
    metadata: metadataOf(NAMESPACE_PROFILE_PREFIX + namespace.metadata.name, namespace),
    spec: {
      ingress: [{ action: "Allow" }],
      egress: [{ action: "Allow" }],
      labelsToApply: prefixed(NAMESPACE_LABEL_PREFIX, namespace),
    },
  };
}

/** A ServiceAccount as the profile of the pods that run under it: its labels only. */
export function convertServiceAccount(account: Resource): ProfileResource {
  const { namespace = "", name } = account.metadata;
  return {
    apiVersion: CALICO_V3,
    kind: "Profile",
    metadata: metadataOf(`${SERVICE_ACCOUNT_PROFILE_PREFIX}${namespace}.${name}`, account),
    spec: { labelsToApply: prefixed(SERVICE_ACCOUNT_LABEL_PREFIX, account) },
  };
}

/** The profile that every datastore has: it allows everything. */
export const DEFAULT_ALLOW_PROFILE: ProfileResource = {
  apiVersion: CALICO_V3,
  kind: "Profile",
  metadata: { name: "projectcalico-default-allow" },
  spec: { ingress: [{ action: "Allow" }], egress: [{ action: "Allow" }] },
};
