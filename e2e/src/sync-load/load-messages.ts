import type { LoadPlan } from "./load-plan.ts";
import type { LoadReport } from "./load-record.ts";

/** To a process of clients. */
export type ToWorker =
  | { readonly type: "start"; readonly plan: LoadPlan }
  | { readonly type: "report" }
  /** Ends storms and what misbehaves. */
  | { readonly type: "calm" }
  | { readonly type: "stop" };

/** From one: an answer to `report`, or why it cannot go on. */
export type FromWorker =
  | { readonly type: "report"; readonly report: LoadReport }
  | { readonly type: "failed"; readonly message: string };

/** The argument by which the program starts itself as a process of clients. */
export const WORKER_ARGUMENT = "--worker";
