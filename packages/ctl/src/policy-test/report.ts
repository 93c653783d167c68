import { printable } from "@bulrush/base";
import type { FlowText } from "@bulrush/calc";
import type { Output } from "../cli/io.ts";
import { decidedBy, verdictRecord, word } from "../flow/print-verdict.ts";
import type { FlowResult, TestResult } from "./run-tests.ts";

/** Of a failed test, so many flows are shown. */
const MAX_SHOWN = 10;

/** One test for people: a line where it passed, else what was expected and what is, flow by flow. */
export function testText({ test, passed, flows }: TestResult, out: Output): string {
  const count = flows.length === 1 ? "" : out.style("dim", ` (${flows.length} flows)`);
  const lines = [`${passed ? out.style("green", "pass") : out.style("red", "FAIL")}  ${printable(test.name)}${count}`];
  const failed = flows.filter(isFailed);
  for (const flow of failed.slice(0, MAX_SHOWN)) lines.push(...flowLines(flow, out).map((line) => `      ${line}`));
  if (failed.length > MAX_SHOWN) lines.push(`      ... and ${failed.length - MAX_SHOWN} more flows`);
  return `${lines.join("\n")}\n`;
}

/** "3 tests, 5 flows: 2 passed, 1 failed". */
export function summaryText(results: readonly TestResult[], out: Output): string {
  const passed = results.filter((result) => result.passed).length;
  const failed = results.length - passed;
  const flows = results.reduce((sum, result) => sum + result.flows.length, 0);
  const word = failed === 0 ? out.style("green", `${passed} passed`) : `${passed} passed`;
  return `${count(results.length, "test")}, ${count(flows, "flow")}: ${word}, ${
    failed === 0 ? "0 failed" : out.style("red", `${failed} failed`)
  }\n`;
}

/** A test as JSON data. */
export function testRecord(file: string, { test, passed, flows }: TestResult): Record<string, unknown> {
  return {
    file,
    line: test.line,
    name: test.name,
    passed,
    flows: flows.map(({ flow, error, verdict, differences }) => ({
      ...flow,
      ...(verdict === undefined ? { error } : verdictRecord(verdict, false)),
      passed: error === undefined && differences.length === 0,
      differences,
    })),
  };
}

/** All tests in the form that CI systems read: https://github.com/testmoapp/junitxml. */
export function junitXml(file: string, results: readonly TestResult[]): string {
  const failures = results.filter(({ passed }) => !passed).length;
  const counts = `tests="${results.length}" failures="${failures}"`;
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name=${quoted(file)} ${counts}>`,
  ];
  for (const { test, passed, flows } of results) {
    const head = `    <testcase name=${quoted(test.name)} classname=${quoted(file)} file=${quoted(file)} line="${test.line}"`;
    if (passed) {
      lines.push(`${head}/>`);
      continue;
    }
    const failed = flows.filter(isFailed);
    const text = failed.slice(0, MAX_SHOWN).flatMap((flow) => flowLines(flow, PLAIN));
    lines.push(
      `${head}>`,
      `      <failure message=${quoted(`${count(failed.length, "flow")} not as expected`)}>${escaped(text.join("\n"))}</failure>`,
      "    </testcase>",
    );
  }
  return `${[...lines, "  </testsuite>", "</testsuites>"].join("\n")}\n`;
}

const PLAIN: Pick<Output, "style"> = { style: (_style, text) => text };

/** The flow, then each difference as two lines, then who decided. */
function flowLines({ flow, error, verdict, differences }: FlowResult, out: Pick<Output, "style">): string[] {
  const lines = [flowText(flow)];
  if (error !== undefined) return [...lines, `  cannot be judged: ${error}`];
  for (const { what, expected, actual } of differences)
    lines.push(
      `  ${out.style("green", `- expected ${what}: ${expected}`)}`,
      `  ${out.style("red", `+ actual   ${what}: ${actual}`)}`,
    );
  for (const direction of ["egress", "ingress"] as const) {
    const side = verdict?.[direction];
    if (side === undefined) continue;
    const decider = decidedBy(side);
    lines.push(`  ${direction}: ${word(side.verdict, out)}${decider === "" ? `, for ${side.why}` : ` by ${decider}`}`);
  }
  for (const host of verdict?.hosts ?? [])
    lines.push(`  ${host.direction} at host endpoint ${host.endpoint}: ${word(host.verdict, out)}, for ${host.why}`);
  return lines;
}

function flowText({ from, to, protocol, port }: FlowText): string {
  const words = [from, "->", to, "", String(protocol).toUpperCase(), port ?? ""];
  return printable(words.map(String).join(" ").trimEnd());
}

function isFailed({ error, differences }: FlowResult): boolean {
  return error !== undefined || differences.length > 0;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function quoted(text: string): string {
  return `"${escaped(text)}"`;
}

/** XML 1.0 has no way to write most control characters. */
function escaped(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "?")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
