import type { TriedFlow } from "../lab/session.ts";

export interface TableStyle {
  readonly colour: boolean;
}

const RESET = "\u001b[0m";
const CODES = { allow: "\u001b[32m", deny: "\u001b[2m", wrong: "\u001b[41m" } as const;

function paint(text: string, kind: keyof typeof CODES, style: TableStyle): string {
  return style.colour ? `${CODES[kind]}${text}${RESET}` : text;
}

/**
 * The connectivity table: a row for each pod that tries, a column for each port that is tried. "yes" connected, "-" did
 * not, "!" in front of it where the explanation says otherwise, a blank where there is nothing to try.
 */
export function renderTable(flows: readonly TriedFlow[], style: TableStyle): string {
  const rows = [...new Set(flows.map((flow) => flow.from.name))].sort();
  const columns = new Map<string, { readonly pod: string; readonly port: string }>();
  for (const { to, protocol, port } of flows)
    columns.set(`${to.name} ${String(port).padStart(5, "0")} ${protocol}`, {
      pod: to.name,
      port: `${protocol}/${port}`,
    });
  const keys = [...columns.keys()].sort();
  const cells = new Map(flows.map((flow) => [`${flow.from.name} ${flow.to.name} ${flow.protocol}/${flow.port}`, flow]));
  const widths = keys.map((key) => Math.max(columns.get(key)?.pod.length ?? 0, columns.get(key)?.port.length ?? 0));
  const left = Math.max(...rows.map((row) => row.length), "from \\ to".length);
  const lines = [
    ["from \\ to".padEnd(left), ...keys.map((_key, i) => headerCell(keys, i, columns).padEnd(widths[i] ?? 0))].join(
      "  ",
    ),
    ["".padEnd(left), ...keys.map((key, i) => (columns.get(key)?.port ?? "").padEnd(widths[i] ?? 0))].join("  "),
  ];
  for (const row of rows) {
    const line = keys.map((key, i) => {
      const column = columns.get(key);
      const flow = cells.get(`${row} ${column?.pod ?? ""} ${column?.port ?? ""}`);
      const width = widths[i] ?? 0;
      if (flow === undefined) return "".padEnd(width);
      const answer = flow.connects ? "yes" : "-";
      if (flow.connects !== flow.explained)
        return paint(`!${answer}`, "wrong", style) + " ".repeat(width - answer.length - 1);
      return paint(answer, flow.connects ? "allow" : "deny", style) + " ".repeat(width - answer.length);
    });
    lines.push([row.padEnd(left), ...line].join("  "));
  }
  return lines.map((line) => line.trimEnd()).join("\n");
}

/** A pod's name stands once, over its first port. */
function headerCell(
  keys: readonly string[],
  i: number,
  columns: ReadonlyMap<string, { readonly pod: string }>,
): string {
  const pod = columns.get(keys[i] ?? "")?.pod ?? "";
  return i > 0 && columns.get(keys[i - 1] ?? "")?.pod === pod ? "" : pod;
}

/** The flows as the JSON of `-o json`. */
export function flowsAsJson(flows: readonly TriedFlow[]): string {
  return JSON.stringify({
    flows: flows.map(({ from, to, protocol, port, connects, explained }) => ({
      from: from.name,
      to: to.name,
      protocol,
      port,
      verdict: connects ? "allow" : "deny",
      explained: explained ? "allow" : "deny",
    })),
  });
}
