import type { ToDataplane } from "@bulrush/proto";
import type { DriftReport } from "../drift/drift-report.ts";
import type { FlowBatch } from "../flow-log/flow-record.ts";
import type { DataplaneWorkerOptions } from "../handle.ts";
import type { DataplaneStatus, FromDataplane } from "../status.ts";

/** From the main thread to the worker. `batch` and `question` count up from 0. */
export type ToWorker =
  | { readonly kind: "send"; readonly batch: number; readonly messages: readonly ToDataplane[] }
  | { readonly kind: "mark"; readonly sequence: number }
  | { readonly kind: "resync" }
  | { readonly kind: "inspect"; readonly question: number }
  | { readonly kind: "stop" };

/** From the worker to the main thread, in the order in which it happened. */
export type FromWorker =
  | { readonly kind: "started" }
  | { readonly kind: "taken"; readonly batch: number }
  | { readonly kind: "status"; readonly status: DataplaneStatus }
  | { readonly kind: "applied"; readonly sequence: number }
  | { readonly kind: "message"; readonly message: FromDataplane }
  | { readonly kind: "flows"; readonly batch: FlowBatch }
  | { readonly kind: "report"; readonly question: number; readonly report: DriftReport }
  | {
      readonly kind: "log";
      readonly level: "debug" | "info" | "warn" | "error";
      readonly message: string;
      readonly fields: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: "fatal"; readonly message: string; readonly code: string | undefined }
  | { readonly kind: "stopped" };

export interface WorkerData {
  readonly options: DataplaneWorkerOptions;
}
