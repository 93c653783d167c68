/** Floor between two turns of a cache's list/watch loop. */
export const MIN_RESYNC_INTERVAL_MS = 500;
/** After a list that failed. */
export const LIST_RETRY_INTERVAL_MS = 1000;
/** Between lists of a kind that cannot be watched. */
export const WATCH_POLL_INTERVAL_MS = 5000;
/** After a list that said that there is no such API. */
export const MISSING_API_RETRY_MS = 1_800_000;
/** Silence after which the connection counts as lost. */
export const DEFAULT_CONNECTION_TIMEOUT_MS = 600_000;
/** Watch errors of unknown kind at one revision before a full list. */
export const MAX_ERRORS_PER_REVISION = 5;
/** A watch that is over sooner, and has told nothing, may be one that never will: some servers end those of an old revision so. */
export const SHORT_WATCH_MS = 500;
/** So many of them in a row lead to a full list; twice as many to the next, up to the most. */
export const SHORT_WATCHES = { first: 5, most: 160 } as const;
/** Silence after which the server is asked for a sign of life, and how long that may take. */
export const PROBE_AFTER_MS = 30_000;
export const PROBE_TIMEOUT_MS = 10_000;
