/** Text that YAML takes as itself, and as text: no number, no word with a meaning, no sign that begins something. */
const PLAIN = /^[A-Za-z_./][A-Za-z0-9_./ ()<>=-]*[A-Za-z0-9_./)>]$|^[A-Za-z]$/;
const WORDS: ReadonlySet<string> = new Set(["true", "false", "null", "yes", "no", "on", "off", "y", "n"]);

function scalar(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  // A JSON string is a YAML string.
  return PLAIN.test(value) && !WORDS.has(value.toLowerCase()) ? value : JSON.stringify(value);
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}

function lines(value: unknown, indent: string): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item: unknown) => {
      const [first = "", ...rest] = block(item, `${indent}  `);
      return [`${indent}- ${first.trimStart()}`, ...rest];
    });
  }
  return Object.entries(value as object).flatMap(([name, item]) => {
    if (!isNested(item)) return [`${indent}${scalar(name)}: ${inline(item)}`];
    return [`${indent}${scalar(name)}:`, ...lines(item, `${indent}  `)];
  });
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null && !isEmpty(value);
}

function inline(value: unknown): string {
  return typeof value === "object" && value !== null ? (Array.isArray(value) ? "[]" : "{}") : scalar(value);
}

function block(value: unknown, indent: string): string[] {
  return isNested(value) ? lines(value, indent) : [inline(value)];
}

/** A plain object as block YAML, its fields in their order. */
export function toYaml(value: object): string {
  return `${lines(value, "").join("\n")}\n`;
}
