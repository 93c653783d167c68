import { RecentCache } from "@bulrush/base";
import { AUTHORED_BOUNDS, DEFAULT_BOUNDS, type SelectorBounds } from "./parser.ts";
import { type SelectorResult, tryParseSelector } from "./selector.ts";

/** Texts that are remembered, and how long one may be: some 4 MB at most. */
const GENERATION_SIZE = 2048;
const MAX_LENGTH = 512;

interface Entry {
  readonly result: SelectorResult;
  /** Within {@link AUTHORED_BOUNDS}, which are the narrower ones. */
  readonly isAuthored: boolean;
}

const recent = new RecentCache<Entry>(GENERATION_SIZE);

/**
 * {@link tryParseSelector} that remembers the texts it read lately. For validation and translation, which read the
 * selectors of one policy several times and the same ones (a namespace's, a DNS server's) for thousands of policies.
 * The selectors are shared: they are immutable.
 */
export function readSelector(text: string, bounds: SelectorBounds = DEFAULT_BOUNDS): SelectorResult {
  if (text.length > MAX_LENGTH || (bounds !== AUTHORED_BOUNDS && bounds !== DEFAULT_BOUNDS))
    return tryParseSelector(text, bounds);
  const isAuthored = bounds === AUTHORED_BOUNDS;
  const known = recent.get(text);
  if (known !== undefined && (known.isAuthored || !isAuthored)) return known.result;
  const result = tryParseSelector(text, bounds);
  if (result.ok) recent.set(text, { result, isAuthored });
  return result;
}
