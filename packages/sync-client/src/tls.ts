import { readFile } from "node:fs/promises";
import { messageOf } from "@bulrush/base";
import { SyncClientError } from "./errors.ts";

/** What mutual TLS needs, as PEM. At least one of `serverCN` and `serverURISAN` is set; either match suffices. */
export interface TLSMaterial {
  /** The only authority that is trusted: the system's are not. */
  readonly ca: string | Buffer;
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** The common name that the server's certificate must have. */
  readonly serverCN?: string;
  /** A URI that the server's certificate must have among its alternative names. */
  readonly serverURISAN?: string;
}

/** A function is called before each dial; what it throws fails that dial alone. */
export type TLSSource = TLSMaterial | (() => Promise<TLSMaterial>);

/** The parameters as an operator sets them. An empty string counts as not set. */
export interface TLSParameters {
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly serverCN?: string | undefined;
  readonly serverURISAN?: string | undefined;
}

/**
 * Reads the files anew at each call of the result. None set: undefined, plain TCP. Otherwise the three files and at
 * least one identity must be; throws SYNC_CLIENT_TLS_INCOMPLETE naming what is missing, so that a forgotten parameter
 * never turns encryption off.
 */
export function tlsFromParameters(parameters: TLSParameters): (() => Promise<TLSMaterial>) | undefined {
  const { caFile = "", certFile = "", keyFile = "", serverCN = "", serverURISAN = "" } = parameters;
  if ([caFile, certFile, keyFile, serverCN, serverURISAN].every((value) => value === "")) return undefined;
  const missing = [
    ...(caFile === "" ? ["CA file"] : []),
    ...(certFile === "" ? ["certificate file"] : []),
    ...(keyFile === "" ? ["key file"] : []),
    ...(serverCN === "" && serverURISAN === "" ? ["server common name or URI"] : []),
  ];
  if (missing.length > 0)
    throw new SyncClientError(
      "SYNC_CLIENT_TLS_INCOMPLETE",
      `TLS is set in part: ${missing.join(", ")} missing; set all of it or none`,
      { data: { missing } },
    );
  return async () => {
    const [ca, cert, key] = await Promise.all([caFile, certFile, keyFile].map(readMaterial));
    return {
      ca: ca as Buffer,
      cert: cert as Buffer,
      key: key as Buffer,
      ...(serverCN === "" ? {} : { serverCN }),
      ...(serverURISAN === "" ? {} : { serverURISAN }),
    };
  };
}

async function readMaterial(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new SyncClientError("SYNC_CLIENT_TLS_MATERIAL", `Cannot read ${file}: ${messageOf(cause)}`, {
      cause,
      data: { file },
    });
  }
}
