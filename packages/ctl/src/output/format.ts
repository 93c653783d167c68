import type { Arguments } from "../cli/arguments.ts";
import type { OptionSpec } from "../cli/option.ts";
import type { Output } from "../cli/io.ts";
import { usageError } from "../errors.ts";
import { formatJson } from "./json.ts";
import { formatYaml } from "./yaml.ts";

export type StructuredFormat = "json" | "ndjson" | "yaml";

/** The option of a command that can print these formats. */
export function outputOption(formats: readonly string[], standard: string): OptionSpec {
  return { name: "output", short: "o", value: "FORMAT", doc: `${formats.join(", ")}. Default: ${standard}.` };
}

/** The format asked for, of those that the command knows. Throws CTL_USAGE for another one. */
export function outputFormat<F extends string>(args: Arguments, formats: readonly F[], standard: F): F {
  const text = args.get("output");
  if (text === undefined) return standard;
  const format = formats.find((one) => one === text.toLowerCase());
  if (format === undefined)
    throw usageError(`Unknown output format "${text}"; this command knows ${formats.join(", ")}`);
  return format;
}

/** Prints a list item by item: as a JSON array, one line each, or YAML. Nothing but the item at hand is held. */
export async function printItems(
  out: Output,
  format: StructuredFormat,
  items: Iterable<unknown> | AsyncIterable<unknown>,
): Promise<void> {
  let count = 0;
  for await (const item of items) {
    if (format === "ndjson") await out.write(`${formatJson(item)}\n`);
    else if (format === "json") await out.write(`${count === 0 ? "[\n" : ",\n"}${formatJson(item)}`);
    else await out.write(formatYaml([item]));
    count++;
  }
  if (format === "json") await out.write(count === 0 ? "[]\n" : "\n]\n");
  if (format === "yaml" && count === 0) await out.write("[]\n");
}

/** Prints one value. */
export async function printValue(out: Output, format: StructuredFormat, value: unknown): Promise<void> {
  if (format === "yaml") await out.write(formatYaml(value));
  else await out.write(`${formatJson(value, format === "json" ? 2 : undefined)}\n`);
}
