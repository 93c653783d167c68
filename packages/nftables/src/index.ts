export type {
  BaseChain,
  ChainState,
  KeyField,
  RuleState,
  SetState,
  TableFamily,
  TableState,
  VerdictMapState,
} from "./state.ts";
export {
  CT_STATE,
  CT_STATUS,
  type CtKey,
  type Literal,
  type MetaKey,
  type Operand,
  type PayloadField,
  type Right,
  type Statement,
  type Verdict,
} from "./statement.ts";
