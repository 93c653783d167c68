import type { DataplaneRule } from "@bulrush/proto";

/** nft prints (and takes) this much. */
const MAX_COMMENT = 128;

/** The place of the rule in its policy, by which its counter is found, and the annotations of its author. */
export function ruleComment(index: number, rule: DataplaneRule): string {
  const place = placeComment(index);
  const annotations = rule.metadata?.annotations;
  if (annotations === undefined || annotations.size === 0) return place;
  const words = [place];
  for (const [key, value] of annotations) words.push(`${key}=${value}`);
  return commentText(words.join(" "));
}

/** Most comments are no more than this: each is made once. */
const places: string[] = [];
const MAX_PLACES = 1024;

function placeComment(index: number): string {
  const text = places[index] ?? `rule ${index}`;
  if (index === places.length && index < MAX_PLACES) places.push(text);
  return text;
}

/** What a comment may hold; all else becomes `_`. */
export function commentText(text: string): string {
  return text.replace(/[^A-Za-z0-9_ @%+=:,./-]/g, "_").slice(0, MAX_COMMENT);
}
