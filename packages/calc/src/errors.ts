import { CodedError, type CodedErrorOptions } from "@bulrush/base";

/** Every code that a {@link CalcError} may have. */
export const CALC_ERROR_CODES = ["CALC_FLOW_INVALID", "CALC_ENDPOINT_UNKNOWN"] as const;

/** Match on it, not on messages. */
export type CalcErrorCode = (typeof CALC_ERROR_CODES)[number];

/** A question to the graph's state that has no answer: the flow is not one, or names what is not there. */
export class CalcError extends CodedError {
  override readonly name = "CalcError";

  constructor(message: string, options: CodedErrorOptions & { readonly code: CalcErrorCode }) {
    super(message, options);
  }
}
