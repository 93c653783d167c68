import { isList, isMap, type Json, type JsonMap } from "./manifest.ts";

/** What a template may ask for. */
export interface TemplateWorld {
  /** `.Values`, `.Release` and so on. */
  readonly root: JsonMap;
  /** `.Files.Get`. @throws Error when it is not there. */
  readonly file: (path: string) => string;
  /** `toYaml`. */
  readonly toYaml: (value: Json) => string;
}

/**
 * Renders a Helm template of the few forms that our chart keeps to: `if`, `else`, `end`, `.Values.x.y`, `.Files.Get`,
 * parentheses, and the functions of {@link FUNCTIONS}. So the chart is tested on machines without Helm; where there is
 * one, the two are compared.
 *
 * @throws Error at anything else.
 */
export function renderTemplate(template: string, world: TemplateWorld): string {
  const parts = template.split(/(\{\{-?(?:[^"}]|"[^"]*"|\}(?!\}))*-?\}\})/);
  /** Of each open `if`: whether its present branch is taken. */
  const branches: boolean[] = [];
  let out = "";
  let trimNext = false;
  for (const part of parts) {
    const isTaken = branches.every(Boolean);
    if (!part.startsWith("{{")) {
      const text = trimNext ? part.trimStart() : part;
      trimNext = false;
      if (isTaken) out += text;
      continue;
    }
    if (part.startsWith("{{-") && isTaken) out = out.trimEnd();
    trimNext = part.endsWith("-}}");
    const action = part
      .replace(/^\{\{-?/, "")
      .replace(/-?\}\}$/, "")
      .trim();
    const [word = ""] = action.split(" ");
    if (word === "if") branches.push(isTruthy(evaluate(action.slice(3), world)));
    else if (word === "else") branches.push(!(branches.pop() ?? false));
    else if (word === "end") branches.pop();
    else if (isTaken) out += textOf(evaluate(action, world));
  }
  if (branches.length > 0) throw new Error("An if without an end");
  return out;
}

type Function = (args: readonly Json[], world: TemplateWorld) => Json;

const FUNCTIONS: Readonly<Record<string, Function>> = {
  and: (args) => args.find((arg) => !isTruthy(arg)) ?? args.at(-1) ?? null,
  or: (args) => args.find((arg) => isTruthy(arg)) ?? args.at(-1) ?? null,
  not: ([value]) => !isTruthy(value),
  eq: ([a, b]) => a === b,
  ne: ([a, b]) => a !== b,
  quote: ([value]) => JSON.stringify(textOf(value)),
  toJson: ([value]) => JSON.stringify(value),
  toYaml: ([value], { toYaml }) => toYaml(value ?? null).trimEnd(),
  b64enc: ([value]) => Buffer.from(textOf(value)).toString("base64"),
  nindent: ([count, text]) => {
    const indent = " ".repeat(Number(count));
    return `\n${textOf(text)
      .split("\n")
      .map((line) => indent + line)
      .join("\n")}`;
  },
  ".Files.Get": ([path], { file }) => file(textOf(path)),
};

/** `f a b | g c` is `g c (f a b)`. */
function evaluate(pipeline: string, world: TemplateWorld): Json {
  const tokens = pipeline.match(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+/g) ?? [];
  let at = 0;
  const piped = (): Json => {
    let value = call([]);
    while (tokens[at] === "|") {
      at++;
      value = call([value]);
    }
    return value;
  };
  const call = (last: readonly Json[]): Json => {
    const name = tokens[at] ?? "";
    const known = FUNCTIONS[name];
    if (known === undefined) return operand();
    at++;
    const args: Json[] = [];
    while (at < tokens.length && tokens[at] !== "|" && tokens[at] !== ")") args.push(operand());
    return known([...args, ...last], world);
  };
  const operand = (): Json => {
    const token = tokens[at++] ?? "";
    if (token === "(") {
      const value = piped();
      if (tokens[at++] !== ")") throw new Error(`A parenthesis is missing: ${pipeline}`);
      return value;
    }
    if (token.startsWith('"')) return JSON.parse(token) as string;
    if (/^\d+$/.test(token)) return Number(token);
    if (!/^(?:\.\w+)+$/.test(token)) throw new Error(`Not known to the tests: ${token} in ${pipeline}`);
    return field(world.root, token.slice(1).split("."), token);
  };
  const value = piped();
  if (at < tokens.length) throw new Error(`Not known to the tests: ${tokens[at] ?? ""} in ${pipeline}`);
  return value;
}

function field(value: Json | undefined, [name = "", ...rest]: readonly string[], path: string): Json {
  const found = isMap(value) ? value[name] : undefined;
  if (found === undefined) throw new Error(`There is no ${path}`);
  return rest.length === 0 ? found : field(found, rest, path);
}

function isTruthy(value: Json | undefined): boolean {
  if (isList(value)) return value.length > 0;
  if (isMap(value)) return Object.keys(value).length > 0;
  return Boolean(value);
}

function textOf(value: Json | undefined): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}
