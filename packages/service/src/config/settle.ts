import { type Clock, messageOf, sleep } from "@bulrush/base";
import type { Logger } from "../log/logger.ts";

const RETRY_MS = 1000;

/** Settings as they were read, and what is wrong with them. */
export interface TriedSettings {
  readonly problems: readonly string[];
}

/** How bad settings are tried again until they are good or `signal` aborts. */
export interface SettleOptions<S extends TriedSettings, T> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Reads all sources anew. Must not throw. */
  readonly read: () => S;
  /** Makes what good settings ask for. What it throws is one more thing that is wrong with them. */
  readonly make: (settings: S) => T;
  /** Called after each try with what is wrong, "" when nothing is. */
  readonly onTry: (settings: S, problems: string) => void;
}

/**
 * Reads the settings until they are good, once a second: a process with bad settings is alive and says what is wrong,
 * and a corrected file needs no restart. Undefined when the signal came first.
 */
export async function settle<S extends TriedSettings, T>(
  options: SettleOptions<S, T>,
): Promise<{ readonly settings: S; readonly made: T } | undefined> {
  const { clock, logger, signal, onTry } = options;
  let said = "";
  while (!signal.aborted) {
    const settings = options.read();
    const problems = [...settings.problems];
    let settled: { readonly settings: S; readonly made: T } | undefined;
    if (problems.length === 0) {
      try {
        settled = { settings, made: options.make(settings) };
      } catch (error) {
        problems.push(messageOf(error));
      }
    }
    const text = problems.join("; ");
    onTry(settings, text);
    if (settled !== undefined) return settled;
    // The same every second is said once.
    if (text !== said) logger.error("Bad settings, reading them again every second", { problems });
    said = text;
    await sleep(clock, RETRY_MS, signal).catch(() => {});
  }
  return undefined;
}
