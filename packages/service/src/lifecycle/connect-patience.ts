import { setDefaultAutoSelectFamilyAttemptTimeout } from "node:net";

/** Longer than the first resend of a lost SYN takes (1 s). */
const ATTEMPT_MS = 1500;

/**
 * Of a host's several addresses Node gives up each but the last after 250 ms: those of a server that is far away, or has
 * no room at the moment, would never be reached, and an address that leads nowhere would be all that is left.
 */
export function waitForSlowAddresses(): void {
  setDefaultAutoSelectFamilyAttemptTimeout(ATTEMPT_MS);
}
