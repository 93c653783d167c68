/** One thing that is wrong with a value. */
export interface Issue {
  /** Where: `spec.ingress[0].source.selector` in a resource, `inbound_rules[0].src_selector` in a v1 value. */
  readonly path: string;
  /** What was expected and what was found; does not repeat the path. */
  readonly message: string;
}

const MAX_ISSUES = 100;
const SHOWN_CHARS = 80;
const NO_ISSUES: readonly Issue[] = [];

/** Collects issues, at most {@link MAX_ISSUES}: a value that is all wrong needs no longer list. */
export class IssueList {
  #issues: Issue[] | undefined = undefined;

  get issues(): readonly Issue[] {
    return this.#issues ?? NO_ISSUES;
  }

  add(path: string, message: string): void {
    const issues = (this.#issues ??= []);
    if (issues.length < MAX_ISSUES) issues.push({ path, message });
  }

  /** Adds `message` unless it is undefined: the checks return undefined for what is right. */
  check(path: string, message: string | undefined): void {
    if (message !== undefined) this.add(path, message);
  }
}

/** `Expected <expected>, found <value as JSON, shortened>`. */
export function expectedBut(expected: string, found: unknown): string {
  const text = (found instanceof Map ? "a map" : JSON.stringify(found)) ?? String(found);
  return `Expected ${expected}, found ${text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}...` : text}`;
}
