import { CodedError, type CodedErrorOptions } from "@bulrush/base";

/** Every code that this package throws. The README has the same list. */
export const AGENT_ERROR_CODES = ["AGENT_CONFIG"] as const;
export type AgentErrorCode = (typeof AGENT_ERROR_CODES)[number];

/** What keeps the agent from starting. */
export class AgentError extends CodedError {
  override readonly name = "AgentError";
  declare readonly code: AgentErrorCode;

  constructor(message: string, options: CodedErrorOptions & { readonly code: AgentErrorCode }) {
    super(message, options);
  }
}
