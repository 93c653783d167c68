import { type DatastoreConfig, formatProblem, loadManifests } from "@bulrush/datastore";
import { inputError } from "../errors.ts";
import { named } from "./migration.ts";

/** Refuses a directory of which a part cannot be read: a writer leaves that out, and the policies in it would be lost. */
export async function checkReadable(config: DatastoreConfig): Promise<void> {
  if (config.type !== "file") return;
  const { problems } = await loadManifests(config.directory, config);
  const bad = problems.filter(({ severity }) => severity === "error").map(formatProblem);
  if (bad.length > 0) throw inputError(`The source holds what cannot be read; nothing was written:\n${named(bad)}`);
}
