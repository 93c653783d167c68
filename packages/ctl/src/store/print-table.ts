import { printable } from "@bulrush/base";
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
  await printRows(out, titles, rows);
}

/** Prints rows of text, aligned, below a line of titles. Text may come from outside: each row is one line. */
export async function printRows(
  out: Output,
  titles: readonly string[],
  texts: readonly (readonly string[])[],
): Promise<void> {
  const rows = texts.map((cells) => cells.map(printable));
  const widths = titles.map((title, i) =>
    rows.reduce((most, row) => Math.max(most, row[i]?.length ?? 0), title.length),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("   ")
      .trimEnd();
  await out.write(`${out.style("bold", line(titles))}\n`);
  for (const row of rows) await out.write(`${line(row)}\n`);
}
