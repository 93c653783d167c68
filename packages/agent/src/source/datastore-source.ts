import { type CancelTimer, type Clock, messageOf } from "@bulrush/base";
import {
  type DatastoreConfig,
  type DatastoreDriver,
  felixSyncer,
  openDatastore,
  type Syncer,
} from "@bulrush/datastore";
import type { Logger } from "@bulrush/service";
import type { Source, SourceCallbacks, SourceReport } from "./source.ts";
import { withoutHeld } from "./without-held.ts";

export interface DatastoreSourceOptions {
  readonly datastore: DatastoreConfig;
  readonly clock: Clock;
  readonly logger: Logger;
}

const OPEN_RETRY_MS = 1000;

/** Reads the datastore directly, with a syncer of our own. A datastore that does not open is tried again. */
export function datastoreSource(options: DatastoreSourceOptions, callbacks: SourceCallbacks): Source {
  const { datastore, clock, logger } = options;
  let driver: DatastoreDriver | undefined;
  let syncer: Syncer | undefined;
  let stopped = false;
  let failure = "";
  let cancelRetry: CancelTimer = () => {};
  let told = callbacks;

  const open = async (): Promise<void> => {
    try {
      driver = await openDatastore(datastore, { clock, logger });
    } catch (error) {
      failure = messageOf(error);
      logger.warn("Cannot open the datastore, will try again", { type: datastore.type, error });
      if (!stopped) cancelRetry = clock.after(OPEN_RETRY_MS, () => void open());
      return;
    }
    failure = "";
    if (stopped) return;
    syncer = felixSyncer({ driver, clock, callbacks: told, logger });
    syncer.start();
  };

  return {
    start(held) {
      if (held !== undefined) told = withoutHeld(callbacks, held);
      return open();
    },
    async stop() {
      stopped = true;
      cancelRetry();
      await syncer?.stop();
      await driver?.close();
    },
    ack: () => {},
    report: () => describe(datastore, syncer, failure),
  };
}

function describe(datastore: DatastoreConfig, syncer: Syncer | undefined, failure: string): SourceReport {
  if (syncer === undefined)
    return {
      connected: false,
      detail: `opening the ${datastore.type} datastore${failure === "" ? "" : `: ${failure}`}`,
    };
  const behind = syncer.report().find((kind) => kind.status !== "in-sync");
  if (behind === undefined) return { connected: true, detail: `following the ${datastore.type} datastore` };
  return { connected: false, detail: `reading ${behind.kind}: ${behind.reason ?? behind.status}` };
}
