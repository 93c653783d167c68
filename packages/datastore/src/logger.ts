import type { Logger } from "@bulrush/service";

/** The part of a logger that this package uses. */
export type DatastoreLogger = Pick<Logger, "debug" | "info" | "warn" | "error">;
