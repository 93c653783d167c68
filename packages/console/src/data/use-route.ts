import { useEffect, useState } from "preact/hooks";

/** The pages, in the order of their keys: 1 is the first. */
export const PAGES = ["clients", "limit", "streams", "policies", "explain"] as const;
export type Page = (typeof PAGES)[number];

export interface Route {
  readonly page: Page;
  /** What stands behind `?`: the questions of a page are part of its address, so that they can be sent to somebody. */
  readonly query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [name = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const page = PAGES.find((known) => known === name) ?? "clients";
  return { page, query: new URLSearchParams(query) };
}

export function routeHash(page: Page, query: URLSearchParams = new URLSearchParams()): string {
  const text = query.toString();
  return `#/${page}${text === "" ? "" : `?${text}`}`;
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = (): void => setHash(location.hash);
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return parseRoute(hash);
}
