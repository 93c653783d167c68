import { readFileSync, statSync } from "node:fs";
import type { Socket } from "node:net";
import { createSecureContext, type SecureContextOptions, TLSSocket } from "node:tls";
import { messageOf } from "@bulrush/base";
import { ServiceError } from "../errors.ts";

/** As upstream's PrometheusMetricsClientAuth has them. */
export const CLIENT_AUTH_MODES = [
  "NoClientCert",
  "RequireAnyClientCert",
  "VerifyClientCertIfGiven",
  "RequireAndVerifyClientCert",
] as const;
/** Whether a client has to show a certificate, and whether that is verified; upstream's words, which are Go's. */
export type ClientAuthMode = (typeof CLIENT_AUTH_MODES)[number];

/** Files are read again when they change: a new certificate needs no restart. */
export interface HttpTlsOptions {
  /** Paths of PEM files. */
  readonly keyFile: string;
  readonly certFile: string;
  /** Empty: no client can be verified. */
  readonly caFile: string;
  readonly clientAuth: ClientAuthMode;
}

/** The certificates of one server. */
export interface TlsMaterial {
  /** Reads all files. Throws SERVICE_TLS, naming the file, when one cannot be read or does not parse. */
  load(): SecureContextOptions & { requestCert: boolean; rejectUnauthorized: boolean };
  /** True once after any of the files changed since the last load. */
  changed(): boolean;
}

export function tlsMaterial(options: HttpTlsOptions): TlsMaterial {
  const files = [options.keyFile, options.certFile, options.caFile].filter((path) => path !== "");
  let loaded = "";
  return {
    load() {
      loaded = fingerprint(files);
      const context = {
        key: read("key", options.keyFile),
        cert: read("certificate", options.certFile),
        ...(options.caFile !== "" && { ca: read("CA", options.caFile) }),
        minVersion: "TLSv1.2" as const,
      };
      try {
        createSecureContext(context);
      } catch (error) {
        throw new ServiceError(
          `Load key "${options.keyFile}" and certificate "${options.certFile}": ${messageOf(error)}`,
          {
            code: "SERVICE_TLS",
            op: "Load certificate",
            cause: error,
            data: { ...options },
          },
        );
      }
      return {
        ...context,
        requestCert: options.clientAuth !== "NoClientCert",
        // The two modes in between are judged per request, where the client can be told why.
        rejectUnauthorized: options.clientAuth === "RequireAndVerifyClientCert",
      };
    },
    changed: () => fingerprint(files) !== loaded,
  };
}

/** Why a client with this connection may not be served; undefined when it may. */
export function clientRefusal(socket: Socket, mode: ClientAuthMode): string | undefined {
  if (mode === "NoClientCert" || !(socket instanceof TLSSocket)) return undefined;
  const given = Object.keys(socket.getPeerCertificate()).length > 0;
  if (!given) return mode === "VerifyClientCertIfGiven" ? undefined : "A client certificate is required";
  if (mode === "RequireAnyClientCert" || socket.authorized) return undefined;
  return `The client certificate is not accepted: ${socket.authorizationError?.message ?? "unknown reason"}`;
}

function read(what: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new ServiceError(`Read ${what} file "${path}": ${messageOf(error)}`, {
      code: "SERVICE_TLS",
      op: "Read certificate file",
      cause: error,
      data: { path },
    });
  }
}

/** Changes when a file is written, replaced or removed. */
function fingerprint(files: readonly string[]): string {
  return files
    .map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
      return stat === undefined ? "-" : `${stat.ino}:${stat.mtimeNs}:${stat.size}`;
    })
    .join(",");
}
