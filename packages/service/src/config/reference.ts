import type { ConfigTable, Parameter } from "./parameter.ts";

/** What the page says beside the table of settings. */
export interface ReferenceOptions {
  /** "TYPHA_" or "FELIX_". */
  readonly prefix: string;
  /** Heading of the page. */
  readonly title: string;
  /** Path of the settings file. */
  readonly filePath: string;
  /** For a process that reads a datastore: what becomes of a change there, in words. Default: no such column. */
  readonly change?: (name: string) => string;
}

/** The reference of a table as Markdown, in the table's order: what the documentation shows and a test compares. */
export function renderReference<C extends object>(table: ConfigTable<C>, options: ReferenceOptions): string {
  const rows = (Object.entries(table) as [string, Parameter<unknown>][]).map(([name, parameter]) => {
    const variable = `\`${options.prefix}${name.toUpperCase()}\``;
    const fallback = parameter.type.format(parameter.default);
    const shown = parameter.defaultDoc ?? (fallback === "" ? "(unset)" : `\`${fallback}\``);
    const cells = [
      `\`${name}\`<br>${variable}`,
      parameter.type.label,
      shown,
      `${parameter.doc}${notes(parameter)}`.trim(),
    ];
    if (options.change !== undefined) cells.push(options.change(name));
    return `| ${cells.map(escapeCell).join(" | ")} |`;
  });
  return [
    `# ${options.title}`,
    "",
    `Generated from the table in the source. Each setting is read from the environment (\`${options.prefix}<NAME>\`, any`,
    `case), then from \`${options.filePath}\` (\`Name = value\` lines). An empty value counts as not set; \`none\` is the`,
    "type's zero value. A bad value is named in the log and the default is used, unless the row says otherwise.",
    "",
    ...(options.change === undefined
      ? ["| Setting | Type | Default | Effect |", "|---|---|---|---|"]
      : ["| Setting | Type | Default | Effect | Changed in the datastore |", "|---|---|---|---|---|"]),
    ...rows,
    "",
  ].join("\n");
}

function notes(parameter: Parameter<unknown>): string {
  const parts: string[] = [];
  if (parameter.noEffect !== undefined) parts.push(`Accepted, no effect, because ${parameter.noEffect}.`);
  if (parameter.dieOnFail === true) parts.push("A bad value stops the start.");
  if (parameter.nonZero === true) parts.push("`none` is refused.");
  if (parameter.local === true) parts.push("Not read from the datastore.");
  return parts.map((part) => ` ${part}`).join("");
}

function escapeCell(cell: string): string {
  return cell.replaceAll("|", "\\|").replaceAll("\n", " ");
}
