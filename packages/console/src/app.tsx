import type { StatusView } from "@bulrush/typha";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { usePolled } from "./data/use-polled.ts";
import { type Page, PAGES, routeHash, useRoute } from "./data/use-route.ts";
import { useGraph } from "./graph/use-graph.ts";
import { ClientsPage } from "./pages/clients-page.tsx";
import { ExplainPage } from "./pages/explain-page.tsx";
import { LimitPage } from "./pages/limit-page.tsx";
import { PoliciesPage } from "./pages/policies-page.tsx";
import { StreamsPage } from "./pages/streams-page.tsx";
import { ServerHeader } from "./parts/server-header.tsx";

const TITLES: Readonly<Record<Page, string>> = {
  clients: "Clients",
  limit: "Limit",
  streams: "Streams",
  policies: "Policies",
  explain: "Explain",
};

/**
 * The page of one Typha.
 *
 * ```
 *   admin API --status, clients, caches (polled)--> pages
 *       |
 *       +--snapshot--> graph-worker (all hosts' graph) --tiers, verdicts--> policies, explain
 * ```
 */
export function App(): JSX.Element {
  const { page, query } = useRoute();
  const status = usePolled<StatusView>("/api/v1/status");
  const graph = useGraph(page === "policies" || page === "explain");
  const main = useRef<HTMLElement>(null);
  useKeys();
  useEffect(() => {
    document.title = `${TITLES[page]} · ${status.value?.name ?? "Bulrush"}`;
  }, [page, status.value?.name]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the contents
      </a>
      <ServerHeader status={status} />
      <nav aria-label="Pages">
        {PAGES.map((name, i) => (
          <a key={name} href={routeHash(name)} aria-current={name === page ? "page" : undefined} title={`Key ${i + 1}`}>
            {TITLES[name]}
          </a>
        ))}
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        <h1>{TITLES[page]}</h1>
        {page === "clients" && <ClientsPage />}
        {page === "limit" && <LimitPage status={status.value} />}
        {page === "streams" && <StreamsPage />}
        {page === "policies" && <PoliciesPage graph={graph} query={query} />}
        {page === "explain" && <ExplainPage graph={graph} query={query} />}
      </main>
    </>
  );
}

/** 1 to 5 go to the pages, / to the first field. */
function useKeys(): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const page = PAGES[Number(event.key) - 1];
      if (page !== undefined) location.hash = routeHash(page);
      else if (event.key === "/") {
        const field = document.querySelector<HTMLInputElement>("main input");
        if (field === null) return;
        event.preventDefault();
        field.focus();
      }
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
}
