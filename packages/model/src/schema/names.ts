/** A DNS label (RFC 1123), as the source of a regular expression. */
export const LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
/** Labels with dots between. */
export const SUBDOMAIN: string = `${LABEL}(?:\\.${LABEL})*`;
/** The name of a policy: one label, or two with a dot between. */
export const POLICY_NAME: string = `(?:${LABEL}\\.)?${LABEL}`;
/** The name of a policy that was copied from Kubernetes or OpenStack. */
export const COPIED_POLICY_NAME: string = `(?:knp|ossg)\\.default\\.${SUBDOMAIN}`;
