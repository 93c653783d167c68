import type { Resource } from "@bulrush/model";
import type { Output } from "../cli/io.ts";
import { cellText, columnsOf } from "./columns.ts";

/** Prints resources of one kind, aligned, with a line of titles. */
export async function printResourceTable(
  out: Output,
  resources: readonly Resource[],
  withNamespace: boolean,
): Promise<void> {
  const [first] = resources;
  if (first === undefined) return;
  const columns = columnsOf(first);
  const titles = [...(withNamespace ? ["NAMESPACE"] : []), "NAME", ...columns.map(({ title }) => title)];
  const rows = resources.map((resource) => [
    ...(withNamespace ? [resource.metadata.namespace ?? ""] : []),
    resource.metadata.name,
    ...columns.map((column) => cellText(column.read(resource))),
  ]);
  const widths = titles.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("   ")
      .trimEnd();
  await out.write(`${out.style("bold", line(titles))}\n`);
  for (const row of rows) await out.write(`${line(row)}\n`);
}
