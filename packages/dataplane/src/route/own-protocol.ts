/**
 * By which the kernel's routes, routing rules and addresses say that they are ours: rtm_protocol, FRA_PROTOCOL and IFA_PROTO.
 * Routes of workloads have the configured protocol.
 */
export const OWN_PROTOCOL = 80;
