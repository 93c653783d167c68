import { CodedError, type CodedErrorOptions } from "@bulrush/base";

/** Every code that this package throws. The README has the same list. */
export const SERVICE_ERROR_CODES = ["SERVICE_LOG_FILE", "SERVICE_TLS"] as const;
/** Match on it, not on messages. */
export type ServiceErrorCode = (typeof SERVICE_ERROR_CODES)[number];

/** What goes wrong around a process: its settings, its listeners, its log. */
export class ServiceError extends CodedError {
  override readonly name = "ServiceError";

  constructor(message: string, options: CodedErrorOptions & { readonly code: ServiceErrorCode }) {
    super(message, options);
  }
}
