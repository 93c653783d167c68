import type { DataplaneRule } from "@bulrush/proto";

/** nft prints (and takes) this much. */
const MAX_COMMENT = 128;

/** The place of the rule in its policy, by which its counter is found, and the annotations of its author. */
export function ruleComment(index: number, rule: DataplaneRule): string {
  const words = [`rule ${index}`];
  for (const [key, value] of rule.metadata?.annotations ?? []) words.push(`${key}=${value}`);
  return commentText(words.join(" "));
}

/** What a comment may hold; all else becomes `_`. */
export function commentText(text: string): string {
  return text.replace(/[^A-Za-z0-9_ @%+=:,./-]/g, "_").slice(0, MAX_COMMENT);
}
