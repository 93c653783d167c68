import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "@bulrush/base";
import type { Logger } from "../log/logger.ts";
import type { HttpTlsOptions } from "./tls.ts";

export interface HttpServerOptions {
  /** For the log: "health", "metrics". */
  readonly name: string;
  /** Empty: all addresses. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  readonly tls?: HttpTlsOptions | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface HttpServerHandle {
  /** Resolves at the first successful listen. Never rejects: failures are logged and tried again. */
  readonly listening: Promise<AddressInfo>;
  /** Stops listening and trying, ends the open connections. */
  close(): Promise<void>;
}
