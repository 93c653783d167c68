import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { checkIdentity, identityOf, type IdentityRule, type PeerIdentity } from "@bulrush/proto";

/** Certificates whose names are remembered: a fleet mostly shares one, and reading its names takes longer than comparing. */
const REMEMBERED = 64;
const identities = new Map<string, PeerIdentity>();

/** By all of the certificate's bytes, so that no two can be taken for each other. */
function rememberedIdentity(certificate: X509Certificate): PeerIdentity {
  const bytes = certificate.raw.toString("latin1");
  const known = identities.get(bytes);
  if (known !== undefined) return known;
  const identity = identityOf(certificate);
  const [oldest] = identities.keys();
  if (identities.size >= REMEMBERED && oldest !== undefined) identities.delete(oldest);
  identities.set(bytes, identity);
  return identity;
}

/**
 * What is wrong with the certificate that the peer of a finished handshake has shown; undefined when it may come in.
 * The reason names the rule and the certificate, for both sides' logs.
 */
export function clientCertificateProblem(socket: TLSSocket, rule: IdentityRule): string | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return "No client certificate was sent";
  if (!socket.authorized) return untrusted(certificate, String(socket.authorizationError));
  return checkIdentity(rememberedIdentity(certificate), rule);
}

function untrusted(certificate: X509Certificate, code: string): string {
  const subject = certificate.subject.replaceAll("\n", ", ");
  switch (code) {
    case "CERT_HAS_EXPIRED":
      return `The client certificate (${subject}) has expired: it was valid until ${certificate.validTo}`;
    case "CERT_NOT_YET_VALID":
      return `The client certificate (${subject}) is not valid before ${certificate.validFrom}`;
    default: {
      const issuer = certificate.issuer.replaceAll("\n", ", ");
      return `The client certificate (${subject}, issued by ${issuer}) does not chain to our CA: ${code}`;
    }
  }
}
