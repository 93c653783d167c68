/** One `name = value` of the file, in the order of the file. */
export interface IniEntry {
  readonly name: string;
  readonly value: string;
  /** From 1. */
  readonly line: number;
}

/** A bad line is a problem of its own: all others count. */
export interface IniResult {
  readonly entries: readonly IniEntry[];
  /** Lines that are no entry, section, comment or blank, from 1, with what is wrong. */
  readonly problems: readonly { readonly line: number; readonly message: string }[];
}

/**
 * Reads an INI text: `name = value` or `name: value`; `#` and `;` start a comment at the start of a line or after
 * white space; one pair of quotes around a value is taken off and protects what is inside. Sections are only syntax:
 * their entries are all alike.
 */
export function parseIni(text: string): IniResult {
  const entries: IniEntry[] = [];
  const problems: { line: number; message: string }[] = [];
  for (const [index, raw] of text
    .replace(/^\uFEFF/, "")
    .split(/\r\n|\n|\r/)
    .entries()) {
    const line = index + 1;
    const content = raw.trim();
    if (content === "" || content.startsWith("#") || content.startsWith(";")) continue;
    if (content.startsWith("[")) {
      if (!/^\[[^\]]*\]\s*([#;].*)?$/.test(content))
        problems.push({ line, message: "Section without a closing bracket" });
      continue;
    }
    const separator = content.search(/[=:]/);
    const name = separator < 0 ? "" : content.slice(0, separator).trim();
    if (name === "") {
      problems.push({ line, message: "Not a name = value" });
      continue;
    }
    entries.push({ name, value: unquote(content.slice(separator + 1).trim()), line });
  }
  return { entries, problems };
}

function unquote(value: string): string {
  const quoted = /^(["'])(.*?)\1\s*(?:[#;].*)?$/.exec(value);
  if (quoted !== null) return quoted[2] ?? "";
  const comment = value.search(/(^|\s)[#;]/);
  return (comment < 0 ? value : value.slice(0, comment)).trim();
}
