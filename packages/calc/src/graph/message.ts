import type { DatastoreNotReady, ToDataplane } from "@bulrush/proto";

/** What comes out of the graph. DatastoreNotReady is for the process itself (it restarts), never for the dataplane. */
export type CalcMessage = ToDataplane | DatastoreNotReady;
