import { readFileSync } from "node:fs";
import { hasCode, messageOf } from "@bulrush/base";

/** The text of a settings file; undefined when there is none, or when it cannot be read: then `problems` says why. */
export interface SettingsFile {
  readonly text: string | undefined;
  readonly problems: readonly string[];
}

/** Reads a settings file. A missing one is fine. Never throws. */
export function readSettingsFile(path: string): SettingsFile {
  try {
    return { text: readFileSync(path, "utf8"), problems: [] };
  } catch (error) {
    const isMissing = hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR");
    return { text: undefined, problems: isMissing ? [] : [`Cannot read "${path}": ${messageOf(error)}`] };
  }
}
