import { CodedError, type CodedErrorOptions } from "@bulrush/base";

/** Every code that this package throws, with what it means. The README has the same list; no code is used again. */
export const TYPHA_ERROR_CODES = {
  TYPHA_TLS_FILE: "A key, certificate or CA file cannot be read or does not fit",
  TYPHA_ADMIN_LISTEN: "The admin API cannot be served at its address",
} as const;

/** Match on it, not on messages. */
export type TyphaErrorCode = keyof typeof TYPHA_ERROR_CODES;

/** What goes wrong around the server. What a client does wrong is told to the client, and never thrown. */
export class TyphaError extends CodedError {
  override readonly name = "TyphaError";
  declare readonly code: TyphaErrorCode;

  constructor(message: string, options: CodedErrorOptions & { readonly code: TyphaErrorCode }) {
    super(message, options);
  }
}
