import { RecentCache } from "@bulrush/base";
import { AUTHORED_BOUNDS, DEFAULT_BOUNDS, type SelectorBounds } from "./parser.ts";
import { type SelectorResult, tryParseSelector } from "./selector.ts";

/** Texts that are remembered, and how long one may be: some 4 MB at most. */
const GENERATION_SIZE = 1024;
const MAX_LENGTH = 512;

type Read = SelectorResult & { readonly ok: true };

const authored = new RecentCache<Read>(GENERATION_SIZE);
const wider = new RecentCache<Read>(GENERATION_SIZE);

/**
 * {@link tryParseSelector} that remembers the texts it read lately. For validation and translation, which read the
 * selectors of one policy several times and the same ones (a namespace's, a DNS server's) for thousands of policies.
 * The selectors are shared: they are immutable.
 */
export function readSelector(text: string, bounds: SelectorBounds = DEFAULT_BOUNDS): SelectorResult {
  if (text.length > MAX_LENGTH || (bounds !== AUTHORED_BOUNDS && bounds !== DEFAULT_BOUNDS))
    return tryParseSelector(text, bounds);
  // What the narrower bounds let in, the wider ones do.
  const known = authored.get(text) ?? (bounds === DEFAULT_BOUNDS ? wider.get(text) : undefined);
  if (known !== undefined) return known;
  const result = tryParseSelector(text, bounds);
  if (result.ok) (bounds === AUTHORED_BOUNDS ? authored : wider).set(text, result);
  return result;
}
