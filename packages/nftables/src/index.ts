export type { NftConnection } from "./connection.ts";
export { shareStatement } from "./compile/shared-statement.ts";
export { ruleKey } from "./compile/rule-key.ts";
export {
  failedWith,
  NFT_ERROR_CODES,
  NftError,
  type NftErrorCode,
  type NftErrorOptions,
  type NftFailure,
} from "./errors.ts";
export { FakeNft, type FakeNftOptions } from "./fake/fake-nft.ts";
export { formatRule } from "./format/format-rule.ts";
export { formatRuleset } from "./format/format-ruleset.ts";
export { encodeTransaction } from "./kernel/encode-transaction.ts";
export { type NftConnectionOptions, openNftConnection } from "./kernel/open-nft-connection.ts";
export {
  describeOperation,
  type FlowtableShape,
  type MapShape,
  type NftOperation,
  type RuleHandle,
  type SetShape,
  type TableRef,
} from "./operation.ts";
export { planTable } from "./plan/plan-table.ts";
export type {
  ChainReadback,
  CountedRule,
  FlowtableReadback,
  MapReadback,
  RuleReadback,
  SetReadback,
  TableReadback,
} from "./readback.ts";
export type {
  BaseChain,
  ChainState,
  FlowtableState,
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
export { Transaction } from "./transaction.ts";
export type { NftChange, NftWatch, NftWatchOptions } from "./watch/nft-watch.ts";
export { openNftWatch } from "./watch/open-nft-watch.ts";
export { protocolNumber } from "./wire/protocol.ts";
