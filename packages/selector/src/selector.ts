import { base64Url, sha224 } from "@bulrush/base";
import { SelectorError } from "./errors.ts";
import { evaluateNode, type LabelReader } from "./evaluate.ts";
import { formatNode } from "./format.ts";
import { mapNode, prefixNode } from "./map-node.ts";
import type { SelectorNode } from "./node.ts";
import { parseNode, type SelectorBounds } from "./parser.ts";
import { type LabelRestrictions, restrictionsOf } from "./restrictions.ts";

/**
 * A parsed selector. Immutable. Text, id and restrictions are made on first use and kept.
 *
 * Two selectors mean the same set of endpoints for the graph when their `text` (and so their `id`) is equal.
 */
export class Selector {
  readonly root: SelectorNode;
  #text: string | undefined = undefined;
  #id: string | undefined = undefined;
  #restrictions: LabelRestrictions | undefined = undefined;

  constructor(root: SelectorNode) {
    this.root = root;
  }

  /** The canonical text: equal for selectors that differ only in spelling. */
  get text(): string {
    return (this.#text ??= formatNode(this.root));
  }

  /** The id of the IP set of this selector: `s:` and 38 characters, a hash of the canonical text. */
  get id(): string {
    return (this.#id ??= `s:${base64Url(sha224(`s:${this.text}`))}`);
  }

  /** What each label must be for the selector to match at all. */
  get restrictions(): LabelRestrictions {
    return (this.#restrictions ??= restrictionsOf(this.root));
  }

  /** True when the labels satisfy the selector. Allocates nothing. */
  evaluate(labels: LabelReader): boolean {
    return evaluateNode(this.root, labels);
  }

  toString(): string {
    return this.text;
  }
}

/** Reads a selector; blank text is `all()`. Throws {@link SelectorError} with the position and what was expected. */
export function parseSelector(text: string, bounds?: SelectorBounds): Selector {
  return new Selector(parseNode(text, bounds));
}

/** A selector, or what is wrong with its text. */
export type SelectorResult =
  | { readonly ok: true; readonly selector: Selector }
  | { readonly ok: false; readonly error: SelectorError };

/** {@link parseSelector} for text that may well be wrong: the error is a value. */
export function tryParseSelector(text: string, bounds?: SelectorBounds): SelectorResult {
  try {
    return { ok: true, selector: parseSelector(text, bounds) };
  } catch (error) {
    if (error instanceof SelectorError) return { ok: false, error };
    throw error;
  }
}

/** The canonical form of `text`, or `text` itself when it cannot be read. */
export function normaliseSelector(text: string): string {
  const result = tryParseSelector(text);
  return result.ok ? result.selector.text : text;
}

/** The same selector with `prefix` before every label name. Throws SELECTOR_UNWRITABLE when a name gets too long. */
export function prefixLabels(selector: Selector, prefix: string): Selector {
  return new Selector(prefixNode(selector.root, prefix));
}

/** The selector with each node replaced by what `replace` returns for it, operands before their groups. */
export function mapSelector(selector: Selector, replace: (node: SelectorNode) => SelectorNode): Selector {
  const root = mapNode(selector.root, replace);
  return root === selector.root ? selector : new Selector(root);
}
