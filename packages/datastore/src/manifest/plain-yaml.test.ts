import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "@bulrush/base";
import fc from "fast-check";
import { LineCounter, parseAllDocuments, stringify } from "yaml";
import { type PlainDocument, readPlainYaml } from "./plain-yaml.ts";

/** What the whole YAML reader says; undefined if anything is wrong. */
function readWhole(text: string): readonly PlainDocument[] | undefined {
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { lineCounter: lines, stringKeys: true, merge: true, logLevel: "error" });
  const out: PlainDocument[] = [];
  for (const [i, document] of (Array.isArray(parsed) ? parsed : []).entries()) {
    if (document.errors.length > 0) return undefined;
    const value = document.toJS({ maxAliasCount: 100 }) as PlainDocument["value"] | null;
    if (value === null) continue;
    out.push({ value, line: lines.linePos(document.contents?.range?.[0] ?? 0).line, number: i + 1 });
  }
  return out;
}

function assertAgrees(text: string): boolean {
  const plain = readPlainYaml(text);
  if (plain !== undefined) assert.deepEqual(plain, readWhole(text), JSON.stringify(text));
  return plain !== undefined;
}

const MANIFEST = `# The shop.
apiVersion: projectcalico.org/v3
kind: NetworkPolicy
metadata:
  name: web # its name
  namespace: shop
  labels: { app.kubernetes.io/name: web, tier: front }
  annotations: {}
spec:
  order: 12
  selector: app == 'web' && !has(old)
  serviceAccountSelector: "role == 'x: y'"
  types:
  - Ingress
  - Egress

  ingress:
    # Clients.
    - action: Allow
      protocol: TCP
      source:
        nets: [10.0.0.0/8, 'fd00::/8']
        notNets:
          - 10.1.0.0/16
      destination:
        ports: [80, "8000:8999", http]
    - action: Deny
      metadata: { annotations: { why: 'so # be it', empty: "" } }
    -
      action: Log
  egress:
    - {}
  doNotTrack: false
  performanceHints: []
  nothing:
---
---
apiVersion: v1
kind: Namespace
metadata: { name: shop }
`;

test("readPlainYaml() reads what people write", () => {
  const documents = readPlainYaml(MANIFEST);
  assert.deepEqual(
    documents?.map(({ line, number }) => ({ line, number })),
    [
      { line: 2, number: 1 },
      { line: 38, number: 3 },
    ],
  );
  const spec = documents?.[0]?.value["spec"] as Record<string, unknown>;
  assert.deepEqual(Object.keys(spec), [
    "order",
    "selector",
    "serviceAccountSelector",
    "types",
    "ingress",
    "egress",
    "doNotTrack",
    "performanceHints",
    "nothing",
  ]);
  assert.equal(spec["selector"], "app == 'web' && !has(old)");
  assert.deepEqual(spec["egress"], [{}]);
  assert.ok(assertAgrees(MANIFEST));
});

const PLAIN: readonly string[] = [
  "a: b  # c # d\n",
  "a: b#c\n",
  "a: b  c   \n",
  "",
  "\n",
  "# nothing\n",
  "---\n",
  "a: b",
  "a: b\n---\n",
  "# c\n---\na:\n- b\nc: d\n",
];

for (const text of PLAIN) {
  test(`readPlainYaml() reads ${JSON.stringify(text)} as the whole reader does`, () => assert.ok(assertAgrees(text)));
}

/** Each is valid YAML with a meaning that is easy to get wrong, or is no YAML. */
const NOT_PLAIN: readonly string[] = [
  "a: &x b\nc: *x\n",
  "a: !!str 5\n",
  "a: |\n  b\n",
  "a: >-\n  b\n",
  "a: b\n  c\n",
  "a: 'b\n  c'\n",
  'a: "\\u0041"\n',
  "a: 'it''s'\n",
  "a: 1.5\n",
  "a: 0x1F\n",
  "a: 0o17\n",
  "a: 1e3\n",
  "a: .inf\n",
  "a: ~\n",
  "a: True\n",
  "a: NULL\n",
  "a: 012\n",
  "a: +1\n",
  "a: 12345678901234567890\n",
  "a: b: c\n",
  "a: b:\n",
  "a: 1\na: 2\n",
  "a: {b: 1, b: 2}\n",
  "a: {b}\n",
  "a: [b, c\n",
  "a: [b: c]\n",
  "a: [b,]\n",
  "a: [b]]\n",
  "a: [b,\n  c]\n",
  "<<: { a: b }\n",
  "? a\n: b\n",
  "a:\tb\n",
  "a: b\r\n",
  "a: \u00e9\n",
  "%YAML 1.1\n---\na: b\n",
  "a: b\n...\n",
  "--- a\n",
  " a: b\n",
  "- a\n",
  "a\n",
  "a:\n  b: c\n d: e\n",
  "a:\n    b: c\n  d: e\n",
  "a:\n- b\n - c\n",
  "- - a\n",
  "a: - b\n",
  "__proto__: x\n",
  "null: x\n",
];

for (const text of NOT_PLAIN) {
  test(`readPlainYaml() leaves ${JSON.stringify(text)} to the whole reader`, () =>
    assert.equal(readPlainYaml(text), undefined));
}

test("readPlainYaml() ends where brackets or blocks nest deep", () => {
  assert.equal(readPlainYaml(`a: ${"[".repeat(5000)}${"]".repeat(5000)}\n`), undefined);
  const steps = Array.from({ length: 200 }, (_, i) => `${" ".repeat(i)}a:\n`).join("");
  assert.equal(readPlainYaml(steps), undefined);
});

test("readPlainYaml() agrees with the whole reader on whatever a writer writes", () => {
  const word = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9./_-]{0,6}$/);
  const scalar = fc.oneof(
    word,
    fc.string(),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constantFrom("yes", "null", "012", "1:2", "a: b", "a #b", "- a", "10.0.0.0/8", "fd00::/8", "1.5", "", null),
  );
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      scalar,
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(word, tie("value"), { maxKeys: 4 }),
    ),
  }));
  const format = fc.record({
    indent: fc.constantFrom(2, 4),
    indentSeq: fc.boolean(),
    lineWidth: fc.constant(0),
    collectionStyle: fc.constantFrom("any" as const, "block" as const),
    flowCollectionPadding: fc.boolean(),
  });
  const root = fc.dictionary(word, value, { minKeys: 1, maxKeys: 5 });
  let read = 0;
  fc.assert(
    fc.property(fc.array(root, { minLength: 1, maxLength: 3 }), format, (documents, options) => {
      if (assertAgrees(documents.map((document) => stringify(document, options)).join("---\n"))) read++;
    }),
    { numRuns: 400 },
  );
  assert.ok(read > 0);
});

/** Pieces that mean something in YAML. */
const PIECES: readonly string[] =
  `| |  |\n|:|: |- |-|#| #|'|"|[|]|{|}|,|&a|*a|!|>|?|@|%|\`|0|1e3|0x1|~|null|true|.inf|---\n|...|\n---\n|a: b\n|- a\n|<<: |=|\\`.split(
    "|",
  );

test("readPlainYaml() agrees with the whole reader on manifests that were tampered with", () => {
  const random = seededRandom(4);
  const below = (count: number): number => Math.floor(random() * count);
  let read = 0;
  for (let turn = 0; turn < 3000; turn++) {
    const lines = MANIFEST.split("\n").slice(below(30));
    let text = lines.slice(0, 3 + below(20)).join("\n");
    for (let changes = 1 + below(3); changes > 0; changes--) {
      const at = below(text.length);
      const isInsert = random() < 0.7;
      text = text.slice(0, at) + (isInsert ? PIECES[below(PIECES.length)] : "") + text.slice(at + (isInsert ? 0 : 2));
    }
    if (assertAgrees(text)) read++;
  }
  assert.ok(read > 100, `Only ${read} were plain`);
});
