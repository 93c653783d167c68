import { useEffect, useState } from "preact/hooks";

/** What was last read, and why it is not newer. */
export interface Polled<T> {
  readonly value: T | undefined;
  readonly error: string | undefined;
  /** When `value` was read: Unix ms. */
  readonly atMs: number;
}

const EVERY_MS = 2000;

/** Reads JSON; throws an Error with what the server says of it. */
export async function fetchJson<T>(url: string, signal?: AbortSignal): Promise<T> {
  const response = await fetch(url, signal && { signal });
  const body: unknown = await response.json().catch(() => undefined);
  if (response.ok) return body as T;
  const said = (body as { error?: unknown } | undefined)?.error;
  throw new Error(typeof said === "string" ? said : `${url} answers ${response.status}`);
}

/** Reads `url` every two seconds while the page is seen; the last good answer stays when one fails. */
export function usePolled<T>(url: string): Polled<T> {
  const [polled, setPolled] = useState<Polled<T>>({ value: undefined, error: undefined, atMs: 0 });
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const read = async (): Promise<void> => {
      try {
        const value = document.hidden ? undefined : await fetchJson<T>(url, abort.signal);
        if (value !== undefined) setPolled({ value, error: undefined, atMs: Date.now() });
      } catch (error) {
        if (abort.signal.aborted) return;
        const text = error instanceof TypeError ? "This Typha does not answer" : (error as Error).message;
        setPolled((last) => ({ ...last, error: text }));
      }
      if (!abort.signal.aborted) timer = window.setTimeout(() => void read(), EVERY_MS);
    };
    void read();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [url]);
  return polled;
}
