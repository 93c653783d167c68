import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../testing/run-cli.ts";

test("selector match prints true or false", async () => {
  const rows: readonly [expression: string, labels: string[], want: string][] = [
    ["app == 'web'", ["--labels", "app=web,tier=front"], "true\n"],
    ["app == 'web'", ["--labels", "app=db"], "false\n"],
    ["app == 'web' && has(tier)", ["-l", "app=web", "-l", "tier="], "true\n"],
    ["!has(app)", [], "true\n"],
  ];
  for (const [expression, labels, want] of rows) {
    const { code, out } = await runCli(["selector", "match", expression, ...labels]);
    assert.deepEqual([code, out], [0, want], expression);
  }
});

test("selector match exits 1 on false only when asked, and says why in JSON", async () => {
  const argv = ["selector", "match", "app == 'web'", "--labels", "app=db"];
  assert.equal((await runCli([...argv, "--exit-code"])).code, 1);
  const { out } = await runCli([...argv, "-o", "json"]);
  assert.deepEqual(JSON.parse(out), {
    selector: 'app == "web"',
    matches: false,
    why: ['app == "web" does not hold: app is "db"'],
  });
});

test("selector format and id print one line", async () => {
  assert.equal((await runCli(["selector", "format", "app=='web'&&(has(x))"])).out, '(app == "web" && has(x))\n');
  const { out } = await runCli(["selector", "id", "app=='web'"]);
  assert.match(out, /^s:[A-Za-z0-9_-]{38}\n$/);
  assert.equal((await runCli(["selector", "id", ' app == "web" '])).out, out);
});

test("selector names the place, when the text is no selector", async () => {
  const { code, out, err } = await runCli(["selector", "format", "app == 'web' &"]);
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /^error: Cannot parse selector at position 13/);
});

test("selector says how it is called, when it is called wrongly", async () => {
  for (const [argv, err] of [
    [["selector"], /Say match, format or id/],
    [["selector", "mtach", "a"], /"mtach" is not match, format or id/],
    [["selector", "id", "app", "==", "x"], /put it in quotes/],
    [["selector", "match", "all()", "--labels", "app"], /"app" in --labels is not name=value/],
  ] as const) {
    const result = await runCli(argv);
    assert.equal(result.code, 2);
    assert.match(result.err, err);
  }
});
