import { isDeepStrictEqual } from "node:util";
import type { LoadedConfig } from "@bulrush/service";
import { ACCEPTED_SETTINGS } from "./accepted-settings.ts";
import type { FelixConfig } from "./felix-config.ts";

/** Applied while the agent runs. */
const LIVE: ReadonlySet<string> = new Set(["HealthTimeoutOverrides"]);

/**
 * The settings that mean something else than before and that only a restart applies, in order of name. One that cannot be
 * read any more is none of them: what it said before stays in force. Nor is one that is now said and was the default
 * before: a FelixConfiguration that somebody creates has the server's defaults in it.
 */
export function restartNeededBy(
  before: LoadedConfig<FelixConfig>,
  after: LoadedConfig<FelixConfig>,
): readonly string[] {
  const names = new Set([...before.origins.keys(), ...after.origins.keys()]);
  return [...names]
    .filter((name) => !LIVE.has(name) && !(name in ACCEPTED_SETTINGS) && !after.rejected.has(name))
    .filter((name) => before.origins.get(name)?.text !== after.origins.get(name)?.text)
    .filter((name) => !isDeepStrictEqual(valueOf(before, name), valueOf(after, name)))
    .sort();
}

function valueOf({ values }: LoadedConfig<FelixConfig>, name: string): unknown {
  return (values as unknown as Readonly<Record<string, unknown>>)[name];
}
