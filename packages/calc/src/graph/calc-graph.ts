import type { SyncStatus, Update } from "@bulrush/model";
import type { DatastoreNotReady, ToDataplane } from "@bulrush/proto";
import type { CalcGraphConfig } from "./config.ts";

/** What comes out of the graph. DatastoreNotReady is for the process itself (it restarts), never for the dataplane. */
export type CalcMessage = ToDataplane | DatastoreNotReady;

export interface CalcGraphOptions {
  /**
   * The host whose view is computed. "*": every endpoint is local (explain): ids of workload endpoints then carry their
   * host name, and host endpoints are named `host/endpoint`.
   */
  readonly hostname: string;
  /** Called synchronously from within `flush`, in dependency order. It must not call back into the graph. */
  readonly sink: (message: CalcMessage) => void;
  readonly config?: Partial<CalcGraphConfig>;
}

/** What an IP set holds, in words for people. */
export type IpSetDescription =
  | { readonly kind: "selector"; readonly selector: string }
  | { readonly kind: "named-port"; readonly selector: string; readonly protocol: string; readonly port: string }
  | { readonly kind: "service"; readonly service: string; readonly withPorts: boolean };

/** The calculation graph. */
export class CalcGraph {
  constructor(options: CalcGraphOptions) {
    void options;
  }

  /** Takes a batch. Updates are trusted to be valid (the validation filter comes before); values are kept, not copied. */
  onUpdates(updates: readonly Update[]): void {
    void updates;
  }

  /** May move backwards; only the first in-sync opens the gate for endpoints, config and encapsulation. */
  onStatusUpdated(status: SyncStatus): void {
    void status;
  }

  /** Sends what changed since the last flush. */
  flush(): void {}

  /** What an active IP set is made from; `undefined` for an id that is not in use. */
  describeIpSet(id: string): IpSetDescription | undefined {
    void id;
    return undefined;
  }
}
