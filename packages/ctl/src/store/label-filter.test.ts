import assert from "node:assert/strict";
import { test } from "node:test";
import { parseLabelFilter } from "./label-filter.ts";

const LABELS = { app: "web", "example.com/tier": "front" };

const rows: readonly [text: string, matches: boolean][] = [
  ["app=web", true],
  ["app==web", true],
  ["app=db", false],
  ["app!=web", false],
  ["other!=web", true],
  ["app", true],
  ["!app", false],
  ["!other, app = web", true],
  ["app=web,example.com/tier=front", true],
  ["app=web,example.com/tier=back", false],
  ["app=", false],
  ["app == 'web' && has(example.com/tier)", true],
  ["app in {'db', 'cache'}", false],
  ["all()", true],
];
for (const [text, matches] of rows) {
  test(`parseLabelFilter() reads ${text}`, () => assert.equal(parseLabelFilter(text)(LABELS), matches));
}

test("parseLabelFilter() says what it cannot read", () => {
  assert.throws(() => parseLabelFilter("app in (web"), { code: "CTL_USAGE", message: /"app in \(web"/ });
});
