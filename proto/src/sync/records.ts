/** Tokens that stand for records: MessagePack has them for integers, which are written with a token of their own here. */
export const RECORD_ID_MIN = 0x40;
export const RECORD_ID_COUNT = 64;
export const MAX_RECORD_FIELDS = 256;
/** What a record definition costs a decoder, in containers. */
export const DEFINITION_COST = 8;
