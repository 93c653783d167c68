import type { ResourceId } from "@bulrush/datastore";
import { messageOf } from "@bulrush/base";
import { datastoreCodeOf } from "@bulrush/datastore";
import type { CommandIo } from "../cli/io.ts";
import { printItems } from "../output/format.ts";
import { typeName } from "./resource-types.ts";

/** What became of one resource. */
export interface WriteResult {
  readonly id: ResourceId;
  readonly action: "created" | "configured" | "unchanged" | "deleted" | "absent" | "failed";
  /** Of a failure. */
  readonly code?: string;
  readonly message?: string;
}

/** Runs one write; an error becomes a result. */
export async function writeResult(id: ResourceId, write: () => Promise<WriteResult["action"]>): Promise<WriteResult> {
  try {
    return { id, action: await write() };
  } catch (error) {
    return { id, action: "failed", code: datastoreCodeOf(error), message: messageOf(error) };
  }
}

/** A line each on standard output, failures on standard error; or the whole list. Returns the exit code. */
export async function printWriteResults(
  results: readonly WriteResult[],
  format: "text" | "json" | "ndjson" | "yaml",
  suffix: string,
  io: CommandIo,
): Promise<number> {
  const isBad = results.some(({ action }) => action === "failed");
  if (format !== "text") {
    await printItems(
      io.out,
      format,
      results.map(({ id: { kind, namespace, name }, ...rest }) => ({ kind, namespace, name, ...rest })),
    );
    return isBad ? 1 : 0;
  }
  for (const { id, action, code = "", message = "" } of results) {
    const name = `${typeName(id)}/${id.namespace === "" ? "" : `${id.namespace}/`}${id.name}`;
    if (action !== "failed") await io.out.write(`${name} ${action}${suffix}\n`);
    else await io.err.write(`${io.err.style("red", "error:")} ${name}: ${hint(code, message)}\n`);
  }
  return isBad ? 1 : 0;
}

function hint(code: string, message: string): string {
  if (code !== "DATASTORE_CONFLICT") return message;
  return `${message} (somebody else changed it; take the newest one, or leave metadata.resourceVersion out)`;
}
