import { COPIED_POLICY_NAME, LABEL, POLICY_NAME, SUBDOMAIN } from "../schema/names.ts";
import { expectedBut } from "./issue.ts";

/**
 * The checks of names. Each returns a message, or undefined for a good name.
 * Sources: the v1 rules of the data model, and the naming rules of Kubernetes (RFC 1123, RFC 1035, RFC 6335).
 */
const NAME = /^[a-zA-Z0-9_.-]{1,128}$/;
const INTERFACE = /^[a-zA-Z0-9_.-]{1,15}$/;
const DNS_LABEL = new RegExp(`^${LABEL}$`);
const DNS_SUBDOMAIN = new RegExp(`^${SUBDOMAIN}$`);
const SERVICE_NAME = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;
const POLICY_NAME_PATTERN = new RegExp(`^${POLICY_NAME}$`);
const COPIED_POLICY_NAME_PATTERN = new RegExp(`^${COPIED_POLICY_NAME}$`);
const PORT_NAME = /^(?=.{1,15}$)(?=.*[a-z])(?!.*--)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const QUALIFIED_NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

const MAX_SUBDOMAIN = 253;

function test(pattern: RegExp, value: unknown, maxLength: number, expected: string): string | undefined {
  return typeof value === "string" && value.length <= maxLength && pattern.test(value)
    ? undefined
    : expectedBut(expected, value);
}

/** A v1 name. */
export function nameProblem(value: unknown): string | undefined {
  return test(NAME, value, 128, "a name of 1 to 128 letters, digits and _ . -");
}

/** An interface name, or `*` where `wildcard`. */
export function interfaceProblem(value: unknown, wildcard: boolean): string | undefined {
  if (wildcard && value === "*") return undefined;
  return test(INTERFACE, value, 15, "an interface name of 1 to 15 letters, digits and _ . -");
}

export function dnsLabelProblem(value: unknown): string | undefined {
  return test(DNS_LABEL, value, 63, "a name of at most 63 lower-case letters, digits and -, without dots");
}

export function dnsSubdomainProblem(value: unknown): string | undefined {
  return test(DNS_SUBDOMAIN, value, MAX_SUBDOMAIN, "a name of at most 253 lower-case letters, digits, - and .");
}

/** The name of a Kubernetes Service: a DNS label that begins with a letter. */
export function serviceNameProblem(value: unknown): string | undefined {
  return test(
    SERVICE_NAME,
    value,
    63,
    "a name of at most 63 lower-case letters, digits and -, beginning with a letter",
  );
}

/** The name of a policy: one label, or two with a dot between. `copied` lets in what was copied from Kubernetes. */
export function policyNameProblem(value: unknown, copied: boolean): string | undefined {
  if (copied && typeof value === "string" && value.length <= MAX_SUBDOMAIN && COPIED_POLICY_NAME_PATTERN.test(value))
    return undefined;
  return test(
    POLICY_NAME_PATTERN,
    value,
    MAX_SUBDOMAIN,
    "a name of lower-case letters, digits and -, with at most one dot",
  );
}

/** The name of a port, as Kubernetes has it (RFC 6335 section 5.1). */
export function portNameProblem(value: unknown): string | undefined {
  return test(PORT_NAME, value, 15, "a port name of at most 15 lower-case letters, digits and single -, with a letter");
}

/** The key of a label: `name` or `prefix/name`. */
export function labelKeyProblem(key: string): string | undefined {
  const slash = key.indexOf("/");
  const good =
    slash < 0
      ? QUALIFIED_NAME.test(key)
      : slash <= MAX_SUBDOMAIN && DNS_SUBDOMAIN.test(key.slice(0, slash)) && QUALIFIED_NAME.test(key.slice(slash + 1));
  return good ? undefined : expectedBut("a label key (name, or DNS name/name)", key);
}

/** The value of a label: at most 63 characters, a letter or digit at both ends, or empty. */
export function labelValueProblem(value: unknown): string | undefined {
  return test(LABEL_VALUE, value, 63, "a label value of at most 63 letters, digits and _ . -");
}
