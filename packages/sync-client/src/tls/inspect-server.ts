import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import type { X509Certificate } from "node:crypto";
import { type Clock, messageOf } from "@bulrush/base";
import { checkIdentity, identityOf, type IdentityRule, type ServerMessage } from "@bulrush/proto";
import { Connection } from "../connection.ts";
import { SyncClientError } from "../errors.ts";
import { formatServerAddress, type ServerAddress } from "../server-address.ts";
import type { TLSMaterial } from "../tls.ts";
import { datesOf, nameOf, purposeOf, type TLSFinding, type TLSSide } from "./inspect-files.ts";

/** Whom to dial, with what, and for how long. */
export interface InspectOptions {
  readonly address: ServerAddress;
  readonly tls: TLSMaterial;
  readonly clock: Clock;
  /** For each step. Default 10,000. */
  readonly timeoutMs?: number;
  /** A server that would refuse us says so at once; who is not refused for this long is accepted. Default 1,000. */
  readonly silenceMs?: number;
}

/**
 * Dials a server and says of each rule whether it holds: what is wrong with the server's certificate, and whether the
 * server takes ours. No stream is begun. Never rejects.
 */
export async function inspectServer(options: InspectOptions): Promise<readonly TLSFinding[]> {
  const { address, tls, clock } = options;
  const where = formatServerAddress(address);
  let seen: Seen;
  try {
    seen = await look(options);
  } catch (error) {
    return [{ side: "server", rule: "TLS handshake", ok: false, detail: `${where}: ${messageOf(error)}` }];
  }
  const { certificate, problem } = seen;
  const findings: TLSFinding[] = [
    { side: "server", rule: "TLS handshake", ok: true, detail: `${where} shows ${nameOf(certificate)}` },
    datesOf("server", "certificate", certificate, clock.nowMs()),
    purposeOf("server", certificate),
    {
      side: "server",
      rule: "certificate chains to our CA",
      ok: problem === undefined,
      detail: problem ?? `issued by ${certificate.issuer.replaceAll("\n", ", ")}`,
    },
    identityFinding("server", certificate, {
      ...(tls.serverCN !== undefined && { commonName: tls.serverCN }),
      ...(tls.serverURISAN !== undefined && { uri: tls.serverURISAN }),
    }),
  ];
  if (findings.every(({ ok }) => ok)) findings.push(await askAcceptance(options));
  return findings;
}

/** Whether a certificate has the name that the other side requires. */
export function identityFinding(side: TLSSide, certificate: X509Certificate, rule: IdentityRule): TLSFinding {
  const identity = identityOf(certificate);
  const problem = checkIdentity(identity, rule);
  const names = [...(identity.commonName === undefined ? [] : [identity.commonName]), ...identity.uris];
  return {
    side,
    rule: "certificate has the name required",
    ok: problem === undefined,
    detail: problem ?? names.join(", "),
  };
}

interface Seen {
  readonly certificate: X509Certificate;
  /** OpenSSL's word on the chain. */
  readonly problem: string | undefined;
}

/** The handshake as a look: whatever certificate the server has is taken. */
function look({ address, tls, clock, timeoutMs = 10_000 }: InspectOptions): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const { host, port } = address;
    const servername = isIP(host) === 0 ? host : "";
    const { ca, cert, key } = tls;
    const socket: TLSSocket = connect({
      ca,
      cert,
      key,
      host,
      port,
      servername,
      minVersion: "TLSv1.2",
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    });
    const cancel = clock.after(timeoutMs, () => socket.destroy(new Error(`no answer in ${timeoutMs / 1000} s`)));
    socket.on("error", (error) => {
      cancel();
      reject(error);
    });
    socket.on("secureConnect", () => {
      cancel();
      const certificate = socket.getPeerX509Certificate();
      const problem = socket.authorized ? undefined : String(socket.authorizationError);
      socket.destroy();
      if (certificate === undefined) reject(new Error("the server shows no certificate"));
      else resolve({ certificate, problem });
    });
  });
}

/** In TLS 1.3 a server looks at our certificate after our part is done: only its words, or its silence, tell. */
function askAcceptance(options: InspectOptions): Promise<TLSFinding> {
  const { address, tls, clock, timeoutMs = 10_000, silenceMs = 1000 } = options;
  return new Promise((resolve) => {
    const end = (ok: boolean, detail: string): void => {
      cancel();
      connection.close();
      resolve({ side: "client", rule: "server accepts our certificate", ok, detail });
    };
    let cancel = (): void => undefined;
    const connection: Connection = new Connection({
      address,
      tls,
      clock,
      dialTimeoutMs: timeoutMs,
      readTimeoutMs: timeoutMs,
      writeTimeoutMs: timeoutMs,
      onOpen: () => {
        cancel = clock.after(silenceMs, () => end(true, formatServerAddress(address)));
      },
      onMessage: (message) => end(...verdictOf(message)),
      onLost: (error) =>
        end(false, error instanceof SyncClientError ? `${error.code}: ${error.message}` : error.message),
    });
  });
}

function verdictOf(message: ServerMessage): readonly [boolean, string] {
  if (message.type !== "reject") return [true, message.type];
  // Other reasons to reject come after the look at the certificate.
  if (message.code !== "identity") return [true, `accepted, though rejected for another reason: ${message.reason}`];
  return [false, message.reason];
}
