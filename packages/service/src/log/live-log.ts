import { isDeepStrictEqual } from "node:util";
import type { LoadedConfig } from "../config/load.ts";
import { type RootLogger } from "./create-logger.ts";
import { type LogSettings, openLog } from "./open-log.ts";
import type { SwitchableLogger } from "./switchable-logger.ts";

/** The log of a process, which follows its settings. */
export interface LiveLog {
  /** Lines of level error and above, and lines given up, since the start. */
  readonly errors: number;
  readonly dropped: number;
  /** Without effect where the settings are as before. A log that cannot be opened leaves the one before, and says so. */
  update(loaded: LoadedConfig<LogSettings>): void;
  /** Writes what waits, before it returns. */
  flush(): void;
}

/** `logger` writes to `first` from now on, and to what later settings ask for. */
export function liveLog(
  program: string,
  logger: SwitchableLogger,
  first: { readonly log: RootLogger; readonly loaded: LoadedConfig<LogSettings> },
): LiveLog {
  let current = first.log;
  let settings = settingsOf(first.loaded.values);
  const earlier = { errors: 0, dropped: 0 };
  logger.switchTo(current);
  return {
    get errors() {
      return earlier.errors + current.errors;
    },
    get dropped() {
      return earlier.dropped + current.dropped;
    },
    update(loaded) {
      const wanted = settingsOf(loaded.values);
      if (isDeepStrictEqual(wanted, settings)) return;
      settings = wanted;
      try {
        const next = openLog(program, loaded, logger);
        const previous = current;
        current = next;
        logger.switchTo(next);
        earlier.errors += previous.errors;
        earlier.dropped += previous.dropped;
        previous.close();
      } catch (error) {
        logger.error("Cannot open the log that the settings ask for, the one before stays", { error });
      }
    },
    flush: () => current.flush(),
  };
}

function settingsOf(values: LogSettings): LogSettings {
  const { DebugDisableLogDropping, LogFilePath, LogSeverityFile, LogSeverityScreen } = values;
  return { DebugDisableLogDropping, LogFilePath, LogSeverityFile, LogSeverityScreen };
}
