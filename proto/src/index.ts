export type * from "./dataplane/message.ts";
export type * from "./dataplane/rule.ts";
export * from "./sync/message.ts";
