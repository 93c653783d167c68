/** Labels that every workload endpoint of Kubernetes carries. */
export const NAMESPACE_LABEL = "projectcalico.org/namespace";
/** Its value is "k8s" for pods. */
export const ORCHESTRATOR_LABEL = "projectcalico.org/orchestrator";
/** Absent where the pod's account has no name. */
export const SERVICE_ACCOUNT_LABEL = "projectcalico.org/serviceaccount";

/** Before the labels that an endpoint has from the profile of its namespace, and of its service account. */
export const NAMESPACE_LABEL_PREFIX = "pcns.";
/** As {@link NAMESPACE_LABEL_PREFIX}, for the labels of the service account. */
export const SERVICE_ACCOUNT_LABEL_PREFIX = "pcsa.";
/** Behind each of these prefixes: the name of the namespace or service account. */
export const NAME_LABEL = "projectcalico.org/name";

/** A profile made of a namespace is `kns.<namespace>`, one made of a service account `ksa.<namespace>.<name>`. */
export const NAMESPACE_PROFILE_PREFIX = "kns.";
/** See {@link NAMESPACE_PROFILE_PREFIX}. */
export const SERVICE_ACCOUNT_PROFILE_PREFIX = "ksa.";
