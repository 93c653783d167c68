import assert from "node:assert/strict";
import { test } from "node:test";
import type { Judgement } from "../input/judge.ts";
import { runCli, TESTDATA } from "../testing/run-cli.ts";

const BAD = `${TESTDATA}/bad`;

test("validate is quiet and exits 0, when all is well", async () => {
  assert.deepEqual(await runCli(["validate", "-f", `${TESTDATA}/shop`]), {
    code: 0,
    out: "9 resources, all valid\n",
    err: "",
  });
});

test("validate exits 1 and names file, line, resource and field", async () => {
  const { code, out, err } = await runCli(["validate", "-f", BAD]);
  assert.equal(code, 1);
  assert.equal(out, "5 resources, 4 bad\n");
  const lines = err.trimEnd().split("\n");
  assert.equal(lines.length, 4);
  assert.match(
    lines[0] ?? "",
    /^error: broken\.yaml:1: NetworkPolicy shop\/bad-selector: spec\.selector: Cannot parse selector/,
  );
  assert.match(
    lines[1] ?? "",
    /^error: broken\.yaml:8 \(document 2\): GlobalNetworkSet bad-net: spec\.nets\[0\]: .*"10\.0\.0\.0\/33"/,
  );
  assert.match(err, /^error: unreadable\.yaml:\d+: /m);
  assert.match(err, /^error: twice\.yaml:1: NetworkPolicy shop\/good: Already defined in broken\.yaml:13/m);
});

test("validate -o json has each resource once, with all that is wrong with it", async () => {
  const { code, out, err } = await runCli(["validate", "-f", BAD, "-o", "json"]);
  assert.deepEqual([code, err], [1, ""]);
  const judgements = JSON.parse(out) as Judgement[];
  assert.deepEqual(
    judgements.map(({ kind, namespace, name, valid, errors }) => [
      kind,
      namespace,
      name,
      valid,
      errors.map(({ path }) => path),
    ]),
    [
      ["NetworkPolicy", "shop", "bad-selector", false, ["spec.selector"]],
      ["GlobalNetworkSet", "", "bad-net", false, ["spec.nets[0]"]],
      ["NetworkPolicy", "shop", "good", true, []],
      ["", "", "", false, [""]],
      ["NetworkPolicy", "shop", "good", false, [""]],
    ],
  );
  for (const { errors } of judgements) for (const { message } of errors) assert.notEqual(message, "");
});

test("validate reads standard input", async () => {
  const manifest = JSON.stringify({
    apiVersion: "projectcalico.org/v3",
    kind: "Tier",
    metadata: { name: "t" },
    spec: { order: "x" },
  });
  const { code, out } = await runCli(["validate", "-f", "-", "-o", "ndjson"], manifest);
  assert.equal(code, 1);
  const judgement = JSON.parse(out) as Judgement;
  assert.deepEqual([judgement.name, judgement.file, judgement.errors[0]?.path], ["t", "-", "spec.order"]);
});

test("validate says so, when there is nothing at the path", async () => {
  const { code, err } = await runCli(["validate", "-f", `${TESTDATA}/nothing-here`]);
  assert.equal(code, 1);
  assert.match(err, /^error: Nothing at ".*nothing-here"/);
});

test("validate says once that a policy has a bad label, at the label's line", async () => {
  const manifest =
    "apiVersion: projectcalico.org/v3\nkind: NetworkPolicy\nmetadata:\n  name: p\n  labels:\n    prod: true\n";
  const { code, out, err } = await runCli(["validate", "-f", "-"], manifest);
  assert.deepEqual([code, out], [1, "1 resource, 1 bad\n"]);
  assert.match(
    err,
    /^error: -:6: NetworkPolicy default\/p: metadata\.labels\.prod: Expected a string, found true; quote it$/m,
  );
});

test("validate warns of what is legal and surely not meant, with a code, and exits 0", async () => {
  const manifest = JSON.stringify({
    apiVersion: "projectcalico.org/v3",
    kind: "NetworkPolicy",
    metadata: { name: "p", namespace: "shop" },
    spec: { ingress: [{ action: "Log" }] },
  });
  const text = await runCli(["validate", "-f", "-"], manifest);
  assert.deepEqual([text.code, text.out], [0, "1 resource, all valid, 1 warning\n"]);
  assert.match(
    text.err,
    /^warning: -:1: NetworkPolicy shop\/p: spec\.ingress: All rules only log: .* \[only-log-rules\]\n$/,
  );
  const { code, out } = await runCli(["validate", "-f", "-", "-o", "json"], manifest);
  const [judgement] = JSON.parse(out) as Judgement[];
  assert.deepEqual([code, judgement?.valid, judgement?.errors], [0, true, []]);
  const [warning] = judgement?.warnings ?? [];
  assert.deepEqual([warning?.path, warning?.code], ["spec.ingress", "only-log-rules"]);
});

test("validate says nothing more of a resource that is bad", async () => {
  const manifest = JSON.stringify({
    apiVersion: "projectcalico.org/v3",
    kind: "NetworkPolicy",
    metadata: { name: "p", namespace: "shop" },
    spec: { selector: "a = b", ingress: [{ action: "Log" }] },
  });
  const { code, out } = await runCli(["validate", "-f", "-"], manifest);
  assert.deepEqual([code, out], [1, "1 resource, 1 bad\n"]);
});

test("validate warns of an action in lower case as of what it counts as, and exits 0", async () => {
  const policy = (action: string): string =>
    `apiVersion: projectcalico.org/v3\nkind: NetworkPolicy\nmetadata: {name: p, namespace: shop}\nspec:\n  ingress:\n  - action: ${action}\n`;
  const { code, out, err } = await runCli(["validate", "-f", "-"], policy("allow"));
  assert.deepEqual([code, out], [0, "1 resource, all valid, 1 warning\n"]);
  assert.match(
    err,
    /^warning: -:1: NetworkPolicy shop\/p: spec\.ingress\[0\]\.action: It counts as "Allow"; .*"allow" \[word-in-other-case\]\n$/,
  );
  const written = await runCli(["convert", "-f", "-"], policy("allow"));
  assert.equal(written.out, (await runCli(["convert", "-f", "-"], policy("Allow"))).out, "as it is enforced");
  const bad = await runCli(["validate", "-f", "-"], policy("permit"));
  assert.equal(bad.code, 1, "what is no word is an error");
});

test("validate says which field is meant by a misspelt one", async () => {
  const manifest =
    "apiVersion: projectcalico.org/v3\nkind: NetworkPolicy\nmetadata: {name: p, namespace: shop}\nspec: {selctor: a == 'b', somethingElse: 1}\n";
  const { code, err } = await runCli(["validate", "-f", "-"], manifest);
  assert.equal(code, 1);
  assert.match(err, /spec\.selctor: Unknown field; is "selector" meant\?; the fields here are tier, /);
  assert.match(err, /spec\.somethingElse: Unknown field; the fields here are tier, /);
});
