import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { datastoreCodeOf } from "../../errors.ts";
import { ListScanner } from "./list-scanner.ts";

interface Scanned {
  readonly items: readonly unknown[];
  readonly pages: readonly number[];
  readonly rest: unknown;
}

/** Scans a text in chunks of the given sizes, taken in turn. */
function scan(text: string, sizes: readonly number[]): Scanned {
  const bytes = Buffer.from(text);
  const scanner = new ListScanner("List things");
  const items: unknown[] = [];
  const pages: number[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    for (const page of scanner.push(Buffer.from(bytes.subarray(at, at + size)))) {
      items.push(...page);
      pages.push(page.length);
    }
    at += size;
  }
  return { items, pages, rest: scanner.finish() };
}

const ROWS: readonly (readonly [what: string, text: string, items: readonly unknown[], rest: unknown])[] = [
  [
    "a native list",
    '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"a":1},{"b":[{"c":{}}]}]}\n',
    [{ a: 1 }, { b: [{ c: {} }] }],
    { kind: "PodList", apiVersion: "v1", metadata: { resourceVersion: "7" }, items: [] },
  ],
  [
    "a list of a CRD, its metadata last",
    '{"apiVersion":"x/v1","items":[{"a":1}],"kind":"XList","metadata":{"continue":"c","resourceVersion":"7"}}',
    [{ a: 1 }],
    { apiVersion: "x/v1", items: [], kind: "XList", metadata: { continue: "c", resourceVersion: "7" } },
  ],
  ["an empty list", '{"items":[],"metadata":{}}', [], { items: [], metadata: {} }],
  ["a list of null", '{"metadata":{},"items":null}', [], { metadata: {}, items: null }],
  [
    "brackets, quotes and escapes in strings",
    '{"items":[{"a":"}],{\\"items\\":["},{"b":"\\\\"},{"c":"\\u007d\\\\\\""}],"k":"]}"}',
    [{ a: '}],{"items":[' }, { b: "\\" }, { c: '}\\"' }],
    { items: [], k: "]}" },
  ],
  [
    "another list beside the items, and items further in",
    '{"columns":[{"x":1}],"metadata":{"items":[{"no":1}]},"items":[{"items":[{"deep":1}]}]}',
    [{ items: [{ deep: 1 }] }],
    { columns: [{ x: 1 }], metadata: { items: [{ no: 1 }] }, items: [] },
  ],
  [
    "white space",
    ' {\n "items" : [ { "a" : 1 } ,\n\t{ "b" : 2 } ] , "metadata" : { } } ',
    [{ a: 1 }, { b: 2 }],
    { items: [], metadata: {} },
  ],
  ["characters of several bytes", '{"items":[{"é":"日本"},{"😀":"}"}]}', [{ é: "日本" }, { "😀": "}" }], { items: [] }],
];

for (const [what, text, items, rest] of ROWS) {
  test(`ListScanner takes ${what} apart, however it is cut`, () => {
    for (const sizes of [[100_000], [1], [2], [3, 5], [7, 1, 13]]) {
      const found = scan(text, sizes);
      assert.deepEqual(found.items, items, `chunks of ${sizes.join(", ")}`);
      assert.deepEqual(found.rest, rest, `chunks of ${sizes.join(", ")}`);
    }
  });
}

test("ListScanner gives what JSON.parse gives, for any objects and any cuts", () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(
      fc.array(object, { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      (items, sizes, isIndented) => {
        const text = JSON.stringify({ kind: "List", items, metadata: { n: 1 } }, null, isIndented ? 1 : 0);
        assert.deepEqual(scan(text, sizes).items, (JSON.parse(text) as { items: unknown }).items);
      },
    ),
  );
});

test("ListScanner gives pages of at most 500 items, and smaller ones where items are large", () => {
  const list = (count: number, size: number): string =>
    JSON.stringify({ items: Array.from({ length: count }, (_, i) => ({ i, text: "x".repeat(size) })) });
  assert.deepEqual(scan(list(1201, 10), [65_536]).pages, [500, 500, 201]);
  // Three of 30,000 bytes are more than 64 KiB.
  assert.deepEqual(scan(list(7, 30_000), [65_536]).pages, [3, 3, 1]);
});

for (const text of [
  '{"items":[{"a":1}',
  '{"items":[{"a":1}]',
  '{"items":[{"a":1}],"kind":',
  '{"items":[{"a":tru}]}',
  '{"items":[,{"a":1}]}',
  '{"items":[{"a":1},]}',
  '{"items":[{"a":1},,{"a":1}]}',
  '{"items":[{"a":1} {"a":1}]}',
  '{"items":[{"a":1} x]}',
  '{"items":[{"a":1}],"items":[]}',
  "[]",
  "no",
  "",
])
  test(`ListScanner calls ${JSON.stringify(text)} malformed`, () => {
    assert.throws(
      () => scan(text, [4]),
      (error: unknown) => datastoreCodeOf(error) === "DATASTORE_MALFORMED",
    );
  });

for (const between of ["", ",,", " ", ", x"])
  test(`ListScanner calls two pages with ${JSON.stringify(between)} between them malformed`, () => {
    const page = Array.from({ length: 500 }, () => '{"a":1}').join();
    assert.equal(scan(`{"items":[${page}, ${page} ]}`, [1000]).items.length, 1000);
    for (const text of [`{"items":[${page}${between}${page}]}`, `{"items":[${page},${page},]}`])
      assert.throws(
        () => scan(text, [1000]),
        (error: unknown) => datastoreCodeOf(error) === "DATASTORE_MALFORMED",
      );
  });

test("ListScanner holds no more than it may of one item, and of what is beside the items", () => {
  const isMalformed = (error: unknown): boolean => datastoreCodeOf(error) === "DATASTORE_MALFORMED";
  const chunk = Buffer.alloc(1024 * 1024, "x");
  const item = new ListScanner("List things");
  item.push(Buffer.from('{"items":[{"a":"'));
  assert.throws(() => {
    for (let i = 0; i < 40; i++) item.push(chunk);
  }, isMalformed);
  const rest = new ListScanner("List things");
  rest.push(Buffer.from('{"a":"'));
  assert.throws(() => {
    for (let i = 0; i < 3; i++) rest.push(chunk);
  }, isMalformed);
});
