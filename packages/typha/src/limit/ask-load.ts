import { X509Certificate } from "node:crypto";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { checkIdentity, identityOf } from "@bulrush/proto";
import { readTlsMaterial, type SyncTlsSettings } from "../server/tls-material.ts";
import { loadPath } from "../server/upgrade-head.ts";
import type { Reserve } from "./balancer.ts";
import { parseServerLoad, type ServerLoad } from "./server-load.ts";

const MAX_ANSWER_BYTES = 4096;

/**
 * Asks the server at `host:port` for its load, on its sync port; `reserve` asks for a place too. With TLS both sides show their server certificates,
 * which must chain to the CA and have the same name. Rejects on anything but a load.
 */
export async function askLoad(
  address: string,
  reserve: Reserve,
  tls: SyncTlsSettings | undefined,
  signal: AbortSignal,
): Promise<ServerLoad> {
  const path = loadPath(reserve);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const request =
      tls === undefined
        ? httpRequest(`http://${address}${path}`, { agent: false, signal })
        : httpsRequest(`https://${address}${path}`, { agent: false, signal, ...tlsOptions(tls) });
    request.on("response", resolve);
    request.on("error", reject);
    request.end();
  });
  let text = "";
  answer.setEncoding("utf8");
  for await (const piece of answer as AsyncIterable<string>) {
    text += piece;
    if (text.length > MAX_ANSWER_BYTES) throw new Error(`The answer of ${address} is too long for a load`);
  }
  const load = answer.statusCode === 200 ? parseServerLoad(text) : undefined;
  if (load === undefined) throw new Error(`${address} answers ${answer.statusCode ?? 0}, and no load`);
  return load;
}

function tlsOptions(settings: SyncTlsSettings): Parameters<typeof httpsRequest>[1] & object {
  const { key, cert, ca, fellowRule } = readTlsMaterial(settings);
  return {
    key,
    cert,
    ca,
    minVersion: "TLSv1.2",
    // Names of hosts play no part; called once the chain was found good.
    checkServerIdentity: (_host, certificate) => {
      if (fellowRule === undefined) return new Error("Our own certificate has neither a common name nor a URI");
      const problem = checkIdentity(identityOf(new X509Certificate(certificate.raw)), fellowRule);
      return problem === undefined ? undefined : new Error(problem);
    },
  };
}
