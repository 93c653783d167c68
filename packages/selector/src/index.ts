export { SELECTOR_ERROR_CODES, SelectorError, type SelectorErrorCode, type SelectorErrorFacts } from "./errors.ts";
export type { LabelReader } from "./evaluate.ts";
export { explainMismatch, type TermMismatch } from "./explain.ts";
export {
  ALL,
  andNode,
  compareLabel,
  type ConstantNode,
  GLOBAL,
  type GroupNode,
  hasLabel,
  type HasNode,
  labelInSet,
  MAX_LABEL_LENGTH,
  type NotNode,
  notNode,
  Op,
  orNode,
  type SelectorNode,
  type SetNode,
  type ValueNode,
  type ValueOp,
} from "./node.ts";
export { AUTHORED_BOUNDS, DEFAULT_BOUNDS, type SelectorBounds } from "./parser.ts";
export { readSelector } from "./read-selector.ts";
export type { LabelRestriction, LabelRestrictions } from "./restrictions.ts";
export {
  mapSelector,
  normaliseSelector,
  parseSelector,
  prefixLabels,
  Selector,
  type SelectorResult,
  tryParseSelector,
} from "./selector.ts";
