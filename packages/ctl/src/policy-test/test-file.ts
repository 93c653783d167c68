import { nearestName } from "@bulrush/base";
import type { FlowText } from "@bulrush/calc";
import { readYamlDocument } from "@bulrush/datastore";
import { inputError } from "../errors.ts";

type Expected = "allow" | "deny";

/** What one side is expected to say. Absent: anything. */
export interface SideExpectation {
  readonly expect?: Expected;
  /** See {@link PolicyTest.by}. */
  readonly by?: string;
}

/** One test: some flows, and what is expected of each. */
export interface PolicyTest {
  readonly name: string;
  /** Line in the file, from 1. */
  readonly line: number;
  readonly flows: readonly FlowText[];
  readonly expect?: Expected;
  /** What decides on a side that has this verdict: a policy, a policy and its rule, a profile, or "tier NAME" for a tier's end. */
  readonly by?: string;
  readonly egress?: SideExpectation;
  readonly ingress?: SideExpectation;
  /** The verdict when the staged policies are enforced. */
  readonly staged?: Expected;
}

export interface TestFile {
  /** Paths of manifests, as written. */
  readonly manifests: readonly string[];
  readonly tests: readonly PolicyTest[];
}

/** Of one test: `from` times `to` times `ports`. */
const MAX_FLOWS = 10_000;
const MAX_TESTS = 10_000;

const FILE_FIELDS = ["manifests", "tests"];
const FLOW_FIELDS = ["protocol", "sourcePort", "icmpType", "icmpCode", "ipVersion"] as const;
const END_FIELDS = ["name", "from", "to", "port", "ports"];
const EXPECTATION_FIELDS = ["expect", "by", "egress", "ingress", "staged"];
const TEST_FIELDS = [...END_FIELDS, ...FLOW_FIELDS, ...EXPECTATION_FIELDS];
const SIDE_FIELDS = ["expect", "by"];

type Path = readonly (string | number)[];
type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a file of expectations. A field that is not known is refused: a test with a slip in it must not pass.
 *
 * @throws CtlError CTL_INPUT with all that is wrong, by line.
 */
export function readTestFile(text: string, file: string): TestFile {
  const document = readYamlDocument(text);
  if ("problem" in document) throw inputError(`${file}:${document.line}: ${document.problem}`);
  const problems: string[] = [];
  const report: Report = (path, message) => problems.push(`${file}:${document.lineOf(path)}: ${message}`);
  const whole = fieldsOf(document.value, [], FILE_FIELDS, report);
  const tests = whole["tests"];
  if (!Array.isArray(tests) || tests.length === 0) report([], `no tests: expected a list under "tests"`);
  else if (tests.length > MAX_TESTS) report(["tests"], `${tests.length} tests; at most ${MAX_TESTS} in a file`);
  const read = Array.isArray(tests)
    ? tests.slice(0, MAX_TESTS).map((value, i) => readTest(value, ["tests", i], document.lineOf(["tests", i]), report))
    : [];
  const manifests = listOf(whole["manifests"]);
  if (manifests.some((path) => typeof path !== "string" || path === ""))
    report(["manifests"], `"manifests" has something that is no path`);
  if (problems.length > 0) throw inputError(problems.slice(0, 20).join("\n"));
  return { manifests: manifests as readonly string[], tests: read };
}

type Report = (path: Path, message: string) => void;

function readTest(value: unknown, path: Path, line: number, report: Report): PolicyTest {
  const fields = fieldsOf(value, path, TEST_FIELDS, report);
  const flows = flowsOf(fields, path, report);
  const expect = verdictOf(fields["expect"], [...path, "expect"], report);
  const staged = verdictOf(fields["staged"], [...path, "staged"], report);
  const by = textOf(fields["by"], [...path, "by"], report);
  const egress = sideOf(fields["egress"], [...path, "egress"], report);
  const ingress = sideOf(fields["ingress"], [...path, "ingress"], report);
  if (![expect, staged, by, egress, ingress].some((one) => one !== undefined))
    report(path, `the test expects nothing: give "expect: allow" or "expect: deny"`);
  const name = textOf(fields["name"], [...path, "name"], report) ?? titleOf(fields, expect);
  return {
    name,
    line,
    flows,
    ...(expect !== undefined && { expect }),
    ...(by !== undefined && { by }),
    ...(egress !== undefined && { egress }),
    ...(ingress !== undefined && { ingress }),
    ...(staged !== undefined && { staged }),
  };
}

/** "shop/web -> shop/db TCP 5432: allow". */
function titleOf(fields: Fields, expect: Expected | undefined): string {
  const words = (value: unknown): string => listOf(value).map(String).join(", ");
  const ports = words(fields["port"] ?? fields["ports"]);
  const protocol = (fields["protocol"] === undefined ? "tcp" : words(fields["protocol"])).toUpperCase();
  const flow = `${words(fields["from"])} -> ${words(fields["to"])} ${protocol} ${ports}`.trimEnd();
  return expect === undefined ? flow : `${flow}: ${expect}`;
}

function flowsOf(fields: Fields, path: Path, report: Report): readonly FlowText[] {
  const ends = (name: "from" | "to"): readonly unknown[] => {
    const list = listOf(fields[name]);
    if (list.length === 0) report(path, `no "${name}"`);
    return list;
  };
  const from = ends("from");
  const to = ends("to");
  if (fields["port"] !== undefined && fields["ports"] !== undefined)
    report([...path, "ports"], `"port" and "ports" are two forms of one thing: give one`);
  const ports = listOf(fields["port"] ?? fields["ports"]);
  const count = from.length * to.length * Math.max(ports.length, 1);
  if (count > MAX_FLOWS) {
    report(path, `${count} flows; at most ${MAX_FLOWS} in a test`);
    return [];
  }
  const rest = Object.fromEntries(
    FLOW_FIELDS.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]),
  );
  return from.flatMap((source) =>
    to.flatMap((destination) =>
      (ports.length === 0 ? [undefined] : ports).map((port) => ({
        from: source,
        to: destination,
        protocol: "tcp",
        ...rest,
        ...(port !== undefined && { port }),
      })),
    ),
  );
}

/** A word, or an object. */
function sideOf(value: unknown, path: Path, report: Report): SideExpectation | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string") {
    const expect = verdictOf(value, path, report);
    return expect && { expect };
  }
  const fields = fieldsOf(value, path, SIDE_FIELDS, report);
  const expect = verdictOf(fields["expect"], [...path, "expect"], report);
  const by = textOf(fields["by"], [...path, "by"], report);
  if (expect === undefined && by === undefined) report(path, `expected allow, deny, or "expect" and "by"`);
  return { ...(expect !== undefined && { expect }), ...(by !== undefined && { by }) };
}

function verdictOf(value: unknown, path: Path, report: Report): Expected | undefined {
  if (value === undefined) return undefined;
  const word = typeof value === "string" ? value.toLowerCase() : "";
  if (word === "allow" || word === "deny") return word;
  report(path, `${JSON.stringify(value)} is neither allow nor deny`);
  return undefined;
}

function textOf(value: unknown, path: Path, report: Report): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value !== "") return value;
  report(path, `${JSON.stringify(value)} is no text`);
  return undefined;
}

function fieldsOf(value: unknown, path: Path, known: readonly string[], report: Report): Fields {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    report(path, `expected ${known.slice(0, 3).join(", ")}, ...; found ${JSON.stringify(value) ?? "nothing"}`);
    return {};
  }
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue;
    const near = nearestName(name, known);
    report([...path, name], `unknown field "${name}"${near === undefined ? "" : `; did you mean "${near}"?`}`);
  }
  return value as Fields;
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}
