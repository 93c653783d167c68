import { messageOf } from "@bulrush/base";
import { isNode, LineCounter, parseDocument } from "yaml";

/** A file of one document that holds no resources. */
export type YamlDocument =
  | {
      /** Plain data. */
      readonly value: unknown;
      /** Line of a path in the document, from 1; of the nearest thing around it where there is nothing at the path. */
      readonly lineOf: (path: readonly (string | number)[]) => number;
    }
  | { readonly problem: string; readonly line: number };

/** Aliases are expanded; more than this many nodes of them is an attack. */
const MAX_ALIASES = 100;

/** Reads YAML or JSON of one document. Never throws. */
export function readYamlDocument(text: string): YamlDocument {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, stringKeys: true, merge: true, logLevel: "error" });
  const [error] = document.errors;
  if (error !== undefined) {
    const problem = error.message.split("\n")[0]?.replace(/ at line \d+, column \d+:?$/, "") ?? "";
    return { problem, line: lines.linePos(error.pos[0]).line };
  }
  try {
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return {
      value,
      lineOf(path) {
        for (let depth = path.length; depth > 0; depth--) {
          const node = document.getIn(path.slice(0, depth), true);
          if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
        }
        return 1;
      },
    };
  } catch (cause) {
    return { problem: messageOf(cause), line: 1 };
  }
}
