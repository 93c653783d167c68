/** The packet's connection is not tracked. It has no attributes. */
export interface NotrackExpression {
  readonly name: "notrack";
}
