import { plainJson } from "./json.ts";

/** A value as a YAML block, ending in a new line. Maps and Sets as in formatJson. */
export function formatYaml(value: unknown): string {
  const plain = plainJson(value);
  return `${render(plain, 0).replace(/^\n/, "")}\n`;
}

/** The text of a node that follows a `key:` or `-`: a scalar on the same line, or a new line and a block. */
function render(value: unknown, depth: number): string {
  const indent = "  ".repeat(depth);
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return value.map((item) => `\n${indent}- ${inItem(item, depth + 1)}`).join("");
  }
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value);
    if (entries.length === 0) return "{}";
    return entries.map(([name, item]) => `\n${indent}${scalar(name)}:${spaced(render(item, depth + 1))}`).join("");
  }
  return scalar(value);
}

/** The first line of a block stands beside the dash. */
function inItem(item: unknown, depth: number): string {
  return render(item, depth).replace(/^\n */, "");
}

function spaced(text: string): string {
  return text.startsWith("\n") ? text : ` ${text}`;
}

/** Quoted wherever a YAML reader might see something else than this text. */
function scalar(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  const plain =
    /^[A-Za-z_/][A-Za-z0-9_./() -]*$/.test(value) &&
    !value.endsWith(" ") &&
    !/^(true|false|yes|no|on|off|y|n|null|nan|inf)$/i.test(value);
  return plain ? value : JSON.stringify(value);
}
