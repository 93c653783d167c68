import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type CliResult, runCli, spawnCli, TESTDATA } from "../testing/run-cli.ts";

const TESTS = join(TESTDATA, "policy-tests");
const SHOP = join(TESTDATA, "shop");
const root = mkdtempSync(join(tmpdir(), "bulrush-ctl-"));
after(() => rmSync(root, { recursive: true }));

/** Runs tests on the shop that are written here. */
function run(tests: string, ...argv: readonly string[]): Promise<CliResult> {
  const file = join(mkdtempSync(join(root, "t")), "tests.yaml");
  writeFileSync(file, tests);
  return runCli(["test", file, ...(argv.includes("--live") ? [] : ["-f", SHOP]), ...argv]);
}

/** One test of the web reaching the database. */
const webToDb = (expectation: string): string =>
  `tests: [{ name: t, from: shop/web, to: shop/db, port: 5432, ${expectation} }]`;

test("test passes what is as expected, with the manifests that the file names", async () => {
  const { code, out, err } = await spawnCli(["test", join(TESTS, "shop.yaml")]);
  assert.deepEqual([code, err], [0, ""]);
  assert.match(out, /^pass {2}nobody else does, and on no other port \(4 flows\)$/m);
  assert.match(out, /^pass {2}shop\/web -> shop\/db TCP 22: deny$/m, "a test without a name is called by its flow");
  assert.match(out, /^4 tests, 8 flows: 4 passed, 0 failed$/m);
});

test("test says what was expected, what is, and who decided", async () => {
  const { code, out } = await runCli(["test", join(TESTS, "failing.yaml")]);
  assert.equal(code, 1);
  assert.equal(
    out,
    `FAIL  guests reach the database
      other/guest -> shop/db  TCP 5432
        - expected verdict: allow
        + actual   verdict: deny
        - expected ingress: allow
        + actual   ingress: deny
        - expected ingress by: shop/db-only-from-web
        + actual   ingress by: the end of tier default
        egress: allow by GlobalNetworkPolicy/no-metadata, rule 1 (tier default)
        ingress: deny by the end of tier default
FAIL  a pod that is not there
      shop/wbe -> shop/db  TCP 5432
        cannot be judged: Unknown pod "shop/wbe"; did you mean "shop/web"?
pass  the web reaches its database

3 tests, 3 flows: 1 passed, 2 failed
`,
  );
});

test("test -o json has each flow with its verdict and differences", async () => {
  const { code, out } = await runCli(["test", join(TESTS, "failing.yaml"), "-o", "json"]);
  assert.equal(code, 1);
  interface Report {
    readonly passed: number;
    readonly failed: number;
    readonly tests: readonly {
      readonly name: string;
      readonly line: number;
      readonly passed: boolean;
      readonly flows: readonly {
        readonly verdict?: string;
        readonly error?: string;
        readonly differences: readonly object[];
      }[];
    }[];
  }
  const report = JSON.parse(out) as Report;
  assert.deepEqual([report.passed, report.failed], [1, 2]);
  assert.deepEqual(
    report.tests.map(({ name, line, passed }) => [name, line, passed]),
    [
      ["guests reach the database", 3, false],
      ["a pod that is not there", 10, false],
      ["the web reaches its database", 15, true],
    ],
  );
  assert.equal(report.tests[0]?.flows[0]?.verdict, "deny");
  const [first] = report.tests[0]?.flows[0]?.differences ?? [];
  assert.deepEqual(first, { what: "verdict", expected: "allow", actual: "deny" });
  assert.match(report.tests[1]?.flows[0]?.error ?? "", /Unknown pod/);
});

test("test -o junit is XML that says what failed, whatever the names have in them", async () => {
  const name = JSON.stringify('a <b> & "c" \u0001');
  const tests = `tests:
- { name: ${name}, from: shop/web, to: shop/db, port: 5432, expect: deny }
- { name: fine, from: shop/web, to: shop/db, port: 5432, expect: allow }
`;
  const { code, out } = await run(tests, "-o", "junit");
  assert.equal(code, 1);
  assert.match(out, /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites tests="2" failures="1">/);
  assert.match(out, /<testcase name="a &lt;b&gt; &amp; &quot;c&quot; \?" classname="[^"]+" file="[^"]+" line="2">/);
  assert.match(out, /<failure message="1 flow not as expected">shop\/web -&gt; shop\/db {2}TCP 5432\n/);
  assert.match(out, /<testcase name="fine" [^>]*\/>/);
});

const BY: readonly (readonly [expectation: string, passes: boolean])[] = [
  ["by: KubernetesNetworkPolicy/shop/db-only-from-web", true],
  ["by: shop/db-only-from-web", true],
  ["by: db-only-from-web", true],
  ["by: only-from-web", false],
  ['by: "shop/db-only-from-web, rule 0"', true],
  ['by: "shop/db-only-from-web, rule 1"', false],
  ['by: "GlobalNetworkPolicy/no-metadata, rule 1 (tier default)"', true],
  ['by: "GlobalNetworkPolicy/no-metadata, rule 1 (tier security)"', false],
  ['by: "shop/db-only-from-web (tier default)"', true],
  ['by: "shop/db-only-from-web (tier defaul)"', false],
  ['ingress: { by: "db-only-from-web, rule 0 (tier platform)" }', false],
  ["by: tier default", false],
  ["egress: allow", true],
  ["egress: deny", false],
  ["egress: { by: no-metadata }", true],
  ["ingress: { by: no-metadata }", false],
  ["ingress: { expect: allow, by: shop/db-only-from-web }", true],
  ["staged: allow", true],
  ["staged: deny", false],
];
for (const [expectation, passes] of BY)
  test(`test ${passes ? "passes" : "fails"} ${expectation}`, async () => {
    assert.equal((await run(webToDb(expectation))).code, passes ? 0 : 1);
  });

const BAD: readonly (readonly [what: string, tests: string, err: RegExp])[] = [
  ["an unknown field", webToDb("expct: allow"), /tests\.yaml:1: unknown field "expct"; did you mean "expect"\?/],
  ["nothing expected", webToDb("protocol: tcp"), /the test expects nothing/],
  ["another word", webToDb("expect: maybe"), /"maybe" is neither allow nor deny/],
  ["no end", "tests: [{ from: a/b, expect: deny }]", /no "to"/],
  ["two forms of ports", webToDb("ports: [1], expect: allow"), /"port" and "ports"/],
  ["no tests", "manifests: [x]", /no tests/],
  ["no YAML", "tests: [", /tests\.yaml:1: /],
  [
    "too many flows",
    `tests: [{ from: a/b, to: a/b, ports: [${Array.from({ length: 10_001 }, (_, i) => i + 1).join()}], expect: deny }]`,
    /10001 flows; at most 10000/,
  ],
];
for (const [what, tests, err] of BAD)
  test(`test refuses ${what}, with exit code 2`, async () => {
    const result = await run(tests);
    assert.deepEqual([result.code, result.out], [2, ""]);
    assert.match(result.err, err);
  });

test("test says what is wrong with its command line and files, with exit code 2", async () => {
  const noWorld = join(root, "no-world.yaml");
  writeFileSync(noWorld, webToDb("expect: allow"));
  const rows: readonly (readonly [argv: readonly string[], err: RegExp])[] = [
    [["test"], /Name one file of tests/],
    [["test", join(root, "none.yaml")], /Cannot read/],
    [["test", noWorld], /Nothing to test/],
    [["test", noWorld, "-f", join(root, "nowhere")], /nowhere/],
  ];
  for (const [argv, err] of rows) {
    const result = await runCli(argv);
    assert.equal(result.code, 2, argv.join(" "));
    assert.match(result.err, err);
  }
});

const BROKEN = 'kind: "open\n';
const UNKNOWN_KIND = `apiVersion: projectcalico.org/v3
kind: NetworkPolice
metadata: { name: closed, namespace: shop }
spec: { selector: all() }
`;
const UNREAD: readonly (readonly [what: string, manifest: string, err: RegExp])[] = [
  ["an unknown kind", UNKNOWN_KIND, /cannot be judged: 1 resource cannot be read$/m],
  ["a document that is no YAML", BROKEN, /cannot be judged: 1 resource cannot be read$/m],
  ["both", `${UNKNOWN_KIND}---\n${BROKEN}`, /cannot be judged: 2 resources cannot be read$/m],
];
for (const [what, manifest, err] of UNREAD)
  test(`test judges nothing where a manifest has ${what}: exit code 2`, async () => {
    const dir = mkdtempSync(join(root, "unread"));
    writeFileSync(join(dir, "policy.yaml"), manifest);
    const named = join(dir, "tests.yaml");
    writeFileSync(named, `manifests: [${JSON.stringify(SHOP)}, policy.yaml]\n${webToDb("expect: allow")}`);
    const results = [
      await run(webToDb("expect: allow"), "-f", join(dir, "policy.yaml")),
      await runCli(["test", named, "-o", "junit"]),
    ];
    for (const result of results) {
      assert.deepEqual([result.code, result.out], [2, ""]);
      assert.match(result.err, err);
    }
  });

test("test --live judges what agents have in the place of what cannot be read", async () => {
  const dir = mkdtempSync(join(root, "live"));
  cpSync(SHOP, dir, { recursive: true });
  writeFileSync(join(dir, "unknown.yaml"), UNKNOWN_KIND);
  const file = join(root, "live-unread.yaml");
  writeFileSync(file, webToDb("expect: allow"));
  const env = { DATASTORE_TYPE: "file", BULRUSH_DATASTORE_DIR: dir };
  assert.equal((await runCli(["test", file, "--live"], "", env)).code, 0);
});

test("test takes a service as each of its backends", async () => {
  const path = join(root, "service.json");
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "db", namespace: "shop" },
    spec: { clusterIP: "10.96.0.9", ports: [{ port: 5432 }] },
  };
  const slice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "db-1", namespace: "shop", labels: { "kubernetes.io/service-name": "db" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.0.2.1"] }, { addresses: ["10.0.2.9"] }],
    ports: [{ port: 5432, protocol: "TCP" }],
  };
  writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "List", items: [service, slice] }));
  const tests = `tests:
- { from: shop/web, to: "service:shop/db", port: 5432, expect: allow }
- { from: other/guest, to: "service:shop/db", port: 5432, expect: deny }
- { from: shop/web, to: "service:shop/none", port: 5432, expect: allow }
`;
  const { code, out } = await run(tests, "-f", path);
  assert.equal(code, 1);
  assert.match(out, /^pass {2}shop\/web -> service:shop\/db TCP 5432: allow \(2 flows\)$/m);
  assert.match(out, /^FAIL {2}other\/guest -> service:shop\/db/m, "one of the backends is no pod of the shop");
  assert.match(out, /other\/guest -> 10\.0\.2\.9 {2}TCP 5432\n {8}- expected verdict: deny/);
  assert.match(out, /cannot be judged: Unknown service "shop\/none"/);
});

test("test --live asks the datastore of the environment", async () => {
  const file = join(root, "live.yaml");
  writeFileSync(file, webToDb("expect: allow, by: shop/db-only-from-web"));
  const env = { DATASTORE_TYPE: "file", BULRUSH_DATASTORE_DIR: SHOP };
  assert.equal((await runCli(["test", file, "--live"], "", env)).code, 0);
});
