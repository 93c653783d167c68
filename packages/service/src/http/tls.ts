export const CLIENT_AUTH_MODES = [
  "NoClientCert",
  "RequireAnyClientCert",
  "VerifyClientCertIfGiven",
  "RequireAndVerifyClientCert",
] as const;
export type ClientAuthMode = (typeof CLIENT_AUTH_MODES)[number];

/** Files are read again when they change: a new certificate needs no restart. */
export interface HttpTlsOptions {
  readonly keyFile: string;
  readonly certFile: string;
  /** Empty: no client can be verified. */
  readonly caFile: string;
  readonly clientAuth: ClientAuthMode;
}
