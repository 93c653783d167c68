import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { checkIdentity, identityOf, type IdentityRule } from "@bulrush/proto";

/**
 * What is wrong with the certificate that the peer of a finished handshake has shown; undefined when it may come in.
 * The reason names the rule and the certificate, for both sides' logs.
 */
export function clientCertificateProblem(socket: TLSSocket, rule: IdentityRule): string | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return "No client certificate was sent";
  if (!socket.authorized) return untrusted(certificate, String(socket.authorizationError));
  return checkIdentity(identityOf(certificate), rule);
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
