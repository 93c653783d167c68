import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { JsonFilter } from "./json-filter.ts";
import { ALL, allBut, NOTHING, only, type Shape } from "./shape.ts";

/** The stream cut into pieces at these places. */
function filtered(text: string, shape: Shape, cuts: readonly number[] = [], isLines = false): string {
  const filter = new JsonFilter({ shape, isLines });
  const bytes = Buffer.from(text);
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let start = 0;
  const out: Buffer[] = [];
  for (const end of [...ends, bytes.length]) {
    out.push(filter.push(Buffer.from(bytes.subarray(start, end))));
    start = end;
  }
  return Buffer.concat(out).toString();
}

/** What the filter is for, said in objects. */
function pick(value: unknown, shape: Shape): unknown {
  if (shape === ALL || shape === NOTHING || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((entry) => pick(entry, shape));
  const shapes = new Map(shape.fields.map((field) => [Buffer.from(field.name).toString(), field.shape]));
  const kept = Object.entries(value)
    .map(([name, field]) => ({ name, field: field as unknown, shape: shapes.get(name) ?? shape.rest }))
    .filter((entry) => entry.shape !== NOTHING);
  return Object.fromEntries(kept.map((entry) => [entry.name, pick(entry.field, entry.shape)]));
}

const NO_JSON: unique symbol = Symbol("no JSON");

function outcome(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return NO_JSON;
  }
}

/** Any values, and objects whose fields have these names. */
function valuesOf(name: fc.Arbitrary<string>): fc.LetrecValue<{ value: unknown; object: unknown }> {
  return fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null)),
      fc.array(tie("value"), { maxLength: 4 }),
      tie("object"),
    ),
    object: fc.dictionary(name, tie("value"), { maxKeys: 5 }),
  }));
}

const POD: Shape = allBut({
  metadata: allBut({ managedFields: NOTHING }),
  spec: only({ nodeName: ALL, containers: only({ ports: ALL }) }),
});

const ROWS: readonly (readonly [what: string, text: string, want: string])[] = [
  [
    "a field of no use",
    '{"metadata":{"name":"a","managedFields":[{"x":[]}],"uid":"1"}}',
    '{"metadata":{"name":"a","uid":"1"}}',
  ],
  ["one that comes first", '{"metadata":{"managedFields":[1],"uid":"1"}}', '{"metadata":{"uid":"1"}}'],
  ["one that is alone", '{"metadata":{"managedFields":[1]}}', '{"metadata":{}}'],
  [
    "all fields but some",
    '{"spec":{"a":1,"b":"2","nodeName":"n","c":null},"kind":"Pod"}',
    '{"spec":{"nodeName":"n"},"kind":"Pod"}',
  ],
  [
    "entries of a list",
    '{"spec":{"containers":[{"image":"x"},{"image":"x","ports":[1]}]}}',
    '{"spec":{"containers":[{},{"ports":[1]}]}}',
  ],
  ["another type than expected", '{"spec":"none","metadata":null}', '{"spec":"none","metadata":null}'],
  ["brackets and quotes in strings", '{"spec":{"a":"}]\\"{","nodeName":"n\\\\"}}', '{"spec":{"nodeName":"n\\\\"}}'],
  ["names inside strings", '{"x":"\\"spec\\":{}","spec":{"y":1}}', '{"x":"\\"spec\\":{}","spec":{}}'],
  ["spaces", '{ "spec" : { "a" : 1 , "nodeName" : "n" } , "b" : 2 }\n', '{"spec" :{"nodeName" : "n"},"b" : 2 }\n'],
  ["several lines", '{"spec":{"a":1}}\n{"spec":{"b":1}}\n', '{"spec":{}}\n{"spec":{}}\n'],
  ["a list of values", '[{"spec":{"a":1}},{"spec":{}}]', '[{"spec":{}},{"spec":{}}]'],
  ["values that are no containers", '1 "a" null', '1 "a" null'],
];

/** What is no value, each in its own way. */
const FAULTS: readonly string[] = [
  ...String.raw`tru nul1 truee falsE - 01 1. .5 1e 1e+ +1 1.e1 0x1 --1 NaN "\x" "\u12g4" 'a' a ! , : ] } {]`.split(" "),
  ...String.raw`[1,] [,1] [1} {"a"} {"a":} {"a":1,} {,"a":1} {"a":1,,"b":2} {a:1} {1:1} {"a"::1}`.split(" "),
  ...String.raw`{"a":1:2} [[1,2],[3,4}] {"\u00":1}`.split(" "),
  ...'1 2|[1 2]|"a" "b"|{"a":1 "b":2}|"a\nb"|"\u0001"|\u000b1|\ufeff1|{"a\u0001":1}'.split("|"),
];

describe("JsonFilter", () => {
  for (const [what, text, want] of ROWS) {
    it(`takes out what is of no use: ${what}`, () => {
      assert.deepEqual(filtered(text, POD).replaceAll(" ", ""), want.replaceAll(" ", ""));
    });
    it(`gives the same whatever the pieces: ${what}`, () => {
      const whole = filtered(text, POD);
      for (let cut = 0; cut <= text.length; cut++) assert.equal(filtered(text, POD, [cut]), whole);
      assert.equal(
        filtered(
          text,
          POD,
          Array.from(text, (_, i) => i),
        ),
        whole,
      );
    });
  }

  it("leaves what JSON.parse makes of the parts that are of use, for any value, shape and pieces", () => {
    const name = fc.constantFrom("a", "b", "cc", 'd"', "\\", "é", "");
    const { value } = valuesOf(name);
    const { shape } = fc.letrec<{ shape: Shape; object: Shape }>((tie) => ({
      shape: fc.oneof({ maxDepth: 3 }, fc.constantFrom<Shape>(ALL, NOTHING), tie("object")),
      object: fc
        .tuple(fc.dictionary(fc.constantFrom("a", "b", "cc", "é"), tie("shape") as fc.Arbitrary<Shape>), fc.boolean())
        .map(([fields, isOnly]): Shape => (isOnly ? only(fields) : allBut(fields))),
    }));
    const inObject = shape.filter((one) => one !== NOTHING);
    const indent = fc.constantFrom(undefined, 1);
    fc.assert(
      fc.property(value, inObject, fc.array(fc.nat(), { maxLength: 6 }), indent, (content, ofUse, cuts, spaces) => {
        // As the text has it: -0 is 0 there.
        const text = JSON.stringify(content, null, spaces);
        assert.deepEqual(JSON.parse(filtered(text, ofUse, cuts)), pick(JSON.parse(text), ofUse));
      }),
      { numRuns: 2000 },
    );
  });

  it("takes a name as JSON.parse does, with escapes and again and again", () => {
    const spec = String.raw`{"sp\u0065c":{"n\u006fdeName":"a","\u0061":1,"b\"":2},"spec":{"nodeName":"b","nodeName":"c"}}`;
    assert.deepEqual(outcome(filtered(spec, POD)), outcome('{"spec":{"nodeName":"c"}}'));
    assert.equal(
      filtered(String.raw`{"metadata":{"m\u0061nagedFields":1,"managedFields\u0000":2}}`, POD),
      String.raw`{"metadata":{"managedFields\u0000":2}}`,
    );
  });

  for (const fault of FAULTS) {
    for (const text of [
      `{"spec":{"a":${fault},"b":1}}`,
      `{"metadata":{"name":${fault}}}`,
      `{"spec":[${fault}]}`,
      fault,
    ])
      it(`lets the parser see what is at fault: ${JSON.stringify(text)}`, () => {
        assert.throws(() => JSON.parse(text) as unknown, SyntaxError);
        for (let cut = 0; cut <= text.length; cut++)
          assert.equal(outcome(filtered(text, POD, [cut])), NO_JSON, `cut at ${cut}`);
      });
  }

  it("makes JSON of JSON and of nothing else, whatever bytes are changed", () => {
    const { value } = valuesOf(fc.constantFrom("a", "spec", "metadata", "nodeName", "containers", "ports"));
    const byte = fc.constantFrom(...Array.from('{}[],:"\\ \n\u0001aenu-+.01'));
    const change = fc.tuple(fc.nat(), fc.constantFrom("insert", "replace", "remove"), byte);
    fc.assert(
      fc.property(
        value,
        fc.array(change, { maxLength: 3 }),
        fc.array(fc.nat(), { maxLength: 4 }),
        (content, changes, cuts) => {
          let text = JSON.stringify(content);
          for (const [place, how, bytes] of changes) {
            const at = place % (text.length + 1);
            text = text.slice(0, at) + (how === "remove" ? "" : bytes) + text.slice(how === "insert" ? at : at + 1);
          }
          const read = outcome(text);
          assert.deepEqual(outcome(filtered(text, POD, cuts)), read === NO_JSON ? NO_JSON : pick(read, POD), text);
        },
      ),
      { numRuns: 5000 },
    );
  });

  it("makes JSON of JSON and of nothing else, of noise", () => {
    const token = fc.constantFrom(...Array.from('{}[],:" 1-'), '"spec":', '"a":', "null", "0", "e1", '"b"');
    fc.assert(
      fc.property(fc.array(token, { maxLength: 14 }), fc.array(fc.nat(), { maxLength: 4 }), (tokens, cuts) => {
        const text = tokens.join("");
        const read = outcome(text);
        assert.deepEqual(outcome(filtered(text, POD, cuts)), read === NO_JSON ? NO_JSON : pick(read, POD), text);
      }),
      { numRuns: 5000 },
    );
  });

  it("takes a line that is not whole for a fault, and leaves the ones before it as they are", () => {
    const line = fc.array(
      fc.constantFrom(
        '{"spec":{"a":',
        '{"spec":',
        '{"b":',
        "{",
        "[1,",
        '"x',
        '"',
        "1",
        "[",
        "]",
        "}",
        "}}",
        "}}}",
        " ",
      ),
      { maxLength: 4 },
    );
    const cuts = fc.array(fc.nat(), { maxLength: 4 });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 5 }), cuts, (parts, places) => {
        const lines = parts.map((part) => part.join("")).filter((text) => text.trim() !== "");
        const out = filtered(lines.map((text) => `${text}\n`).join(""), POD, places, true).split("\n");
        assert.equal(out.length, lines.length + 1);
        for (const [i, text] of lines.entries()) {
          const read = outcome(text);
          assert.deepEqual(outcome(out[i] ?? ""), read === NO_JSON ? NO_JSON : pick(read, POD), text);
          // Nobody reads on after a fault.
          if (read === NO_JSON) return;
        }
      }),
      { numRuns: 5000 },
    );
  });

  it("takes any nesting that it may meet", () => {
    for (const depth of [10, 64, 65, 1000, 100_000]) {
      for (const [open, close] of [
        ["[", "]"],
        ['{"spec":', "}"],
        ['{"a":', "}"],
      ] as const) {
        const text = `{"spec":${open.repeat(depth)}{}${close.repeat(depth)},"b":1}`;
        const out = filtered(text, POD, [depth]);
        assert.deepEqual((JSON.parse(out) as { b: unknown }).b, 1, `${depth} of ${open}`);
        assert.equal(outcome(filtered(text.replace("{}", "{]"), POD, [depth])), NO_JSON, `${depth} of ${open}`);
      }
    }
  });

  it("lets everything through from a name on that is too long to be one", () => {
    const name = "x".repeat(70_000);
    for (const before of ["", '"a":1,', '"nodeName":1,']) {
      const text = `{"spec":{${before}"${name}":1,"b":2}}`;
      const kept = before === '"nodeName":1,' ? before.slice(0, -1) : "";
      assert.equal(filtered(text, POD), `{"spec":{${kept}}}`);
      // Cut in the middle of it, its end would have to be waited for.
      assert.equal(filtered(text, POD, [69_000]), `{"spec":{${before === '"a":1,' ? "" : before}"${name}":1,"b":2}}`);
    }
  });
});
