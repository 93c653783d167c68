import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { convertResources, loadManifests } from "@bulrush/datastore";
import { validateResource } from "@bulrush/model";
import { asClear } from "../input/as-clear.ts";
import { lint } from "./lint.ts";
import { allow, gnp, knp, np, pod, PODS, WEB } from "./testing/manifests.ts";
import { NETWORK_ROWS } from "./testing/network-rows.ts";
import { PLACE_ROWS } from "./testing/place-rows.ts";
import { RULE_ROWS } from "./testing/rule-rows.ts";
import { SELECTOR_ROWS } from "./testing/selector-rows.ts";
import { type Warning, WARNING_CODES } from "./warning.ts";

/** "code field" of each warning. */
async function warningsOf(objects: readonly object[]): Promise<string[]> {
  return (await lintOf(objects)).map(({ code, field }) => `${code} ${field}`);
}

async function messagesOf(objects: readonly object[]): Promise<string[]> {
  return (await lintOf(objects)).map(({ message }) => message);
}

async function lintOf(objects: readonly object[]): Promise<readonly Warning[]> {
  const text = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  const stdin = (async function* () {
    await Promise.resolve();
    yield Buffer.from(text);
  })();
  const { resources, problems } = await loadManifests("-", { stdin });
  assert.deepEqual(problems, []);
  for (const { resource } of resources)
    assert.deepEqual(validateResource(asClear(resource)), [], JSON.stringify(resource));
  const warnings = lint(resources, convertResources(resources).updates);
  for (const { message } of warnings) assert.match(message, /^\S.*[^.]$/);
  return warnings;
}

const rows = [...RULE_ROWS, ...SELECTOR_ROWS, ...NETWORK_ROWS, ...PLACE_ROWS];

for (const [title, code, objects, field] of rows) {
  test(`lint() ${field === undefined ? "says nothing of" : "says"} ${code}, when ${title}`, async () => {
    const found = await warningsOf(objects);
    if (field === undefined)
      assert.deepEqual(
        found.filter((one) => one.startsWith(`${code} `)),
        [],
      );
    else assert.deepEqual(found, [`${code} ${field}`]);
  });
}

test("every code has a case that it is for and one that it is not for", () => {
  for (const wanted of WARNING_CODES) {
    const own = rows.filter(([, code]) => code === wanted);
    assert.ok(
      own.some(([, , , field]) => field !== undefined) && own.some(([, , , field]) => field === undefined),
      wanted,
    );
  }
});

test("WARNING_CODES is the list of the README", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const table = readme.slice(readme.indexOf("## Warnings"));
  const listed = [...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map((match) => match[1]);
  assert.deepEqual(listed, [...WARNING_CODES]);
});

test("lint() says nothing about namespaces that are not among the resources", async () => {
  const selector = { namespaceSelector: "team == 'x'", ingress: [allow] };
  assert.deepEqual(await warningsOf([WEB, gnp("p", selector)].slice(1)), []);
  const stray = { ...WEB, metadata: { name: "web", namespace: "stray", labels: { app: "web" } } };
  assert.deepEqual(await warningsOf([stray, gnp("p", selector)]), []);
});

test("lint() says where else there is what a selector looks for, and which namespace may be meant", async () => {
  const stray = { ...pod("job", { app: "job" }), metadata: { name: "job", namespace: "jobs", labels: { app: "job" } } };
  const objects = [...PODS, stray];
  const from = [{ podSelector: { matchLabels: { app: "job" } } }];
  assert.deepEqual(await messagesOf([...objects, knp({ podSelector: {}, ingress: [{ from }] })]), [
    'It selects nothing that is here: the rule matches nothing; what it looks for is in "jobs", and a peer without a namespace selector of its own means the policy\'s namespace',
  ]);
  assert.deepEqual(await messagesOf([...objects, np("p", { selector: "app == 'web'" }, "jobs")]), [
    'It selects nothing that is here: the policy is for nobody; what it looks for is in "shop"',
  ]);
  assert.deepEqual(await messagesOf([...objects, np("p", {}, "shpo")]), [
    'There is no namespace "shpo" here: the policy is for nobody; is "shop" meant?',
  ]);
});
