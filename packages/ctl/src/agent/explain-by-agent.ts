import type { FlowText, FlowVerdict } from "@bulrush/calc";
import type { Arguments } from "../cli/arguments.ts";
import { usageError } from "../errors.ts";
import { askAgent } from "./agent-client.ts";

/**
 * The verdict of a flow by what the agent of this host was told, in place of manifests or the datastore. Throws CTL_INPUT
 * where it cannot be had, with the agent's own words.
 */
export function explainByAgent(args: Arguments, text: FlowText): Promise<FlowVerdict> {
  const other = ["file", "live", "flows"].find((name) => args.has(name));
  if (other !== undefined) throw usageError(`--agent does not go with ${other === "file" ? "-f" : `--${other}`}`);
  const fields = Object.entries(text).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return askAgent<FlowVerdict>(args, `/api/v1/explain?${new URLSearchParams(fields).toString()}`);
}
