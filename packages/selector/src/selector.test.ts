import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compareLabel, GLOBAL, hasLabel, labelInSet, notNode, Op } from "./node.ts";
import { mapSelector, normaliseSelector, parseSelector, prefixLabels, Selector } from "./selector.ts";

describe("Selector.id", () => {
  const rows: readonly (readonly [text: string, id: string])[] = [
    ["all()", "s:5y5I3VdRZfDU01O--xXAPx2yxCQQqMf0M6IWug"],
    ["", "s:5y5I3VdRZfDU01O--xXAPx2yxCQQqMf0M6IWug"],
    ["global()", "s:fiJDJdBoaP_zQxty70sMjIrxwAb5lgM6LYCAow"],
    ["b=='b'", "s:8Fb8HeM2GAxsfgNYVjbNrgSZ2H4cZJI8ODNBVg"],
    ["! (has( b)||! has(a ))", "s:Iss0uCleLYv1GSv_pNm7hAO58kE9jAx1NKyG3Q"],
    ["!(a == 'b' && ! c != 'd')", "s:lh3haoY1ikTRkd4UZu0nWSaIBknYLPJLX16d-w"],
    ["a == 'b' && !has(foo3)", "s:K3HM8E1cp6rIuu-KqW_xSlJkQigfFJduE5WlBw"],
  ];
  for (const [text, id] of rows)
    it(`is the known hash for ${JSON.stringify(text)}`, () => assert.equal(parseSelector(text).id, id));
});

describe("prefixLabels()", () => {
  it("renames every label and leaves values alone", () => {
    const selector = parseSelector("!(!(k=='v' && has(t) || all()) && (a in {'b','c'}))");
    assert.equal(prefixLabels(selector, "p/").text, '!(!((p/k == "v" && has(p/t)) || all()) && p/a in {"b", "c"})');
  });
  it("reaches every operator", () => {
    const text = "a!='v' && a contains 'v' && a starts with 'v' && a ends with 'v' && a not in {'v'} && global()";
    assert.equal(
      prefixLabels(parseSelector(text), "pcns.").text,
      '(pcns.a != "v" && pcns.a contains "v" && pcns.a starts with "v" && pcns.a ends with "v" && pcns.a not in {"v"} && global())',
    );
  });
  it("throws when a label gets too long to be read again", () => {
    const selector = parseSelector(`has(${"a".repeat(510)})`);
    assert.equal(prefixLabels(selector, "p/").text, `has(p/${"a".repeat(510)})`);
    assert.throws(() => prefixLabels(selector, "pp/"), { code: "SELECTOR_UNWRITABLE" });
  });
});

describe("mapSelector()", () => {
  const LNS = "projectcalico.org/namespace";
  it("replaces all() and global() on the tree, never inside a value", () => {
    const selector = parseSelector("all() || !global() && a == 'all()' || has(all)");
    const mapped = mapSelector(selector, (node) =>
      node.op === Op.all ? hasLabel(LNS) : node.op === Op.global ? notNode(hasLabel(LNS)) : node,
    );
    assert.equal(mapped.text, `(has(${LNS}) || (has(${LNS}) && a == "all()") || has(all))`);
  });
  it("returns the same selector when nothing was replaced", () => {
    const selector = parseSelector("has(a) && !(has(b) || c in {'d'})");
    assert.equal(
      mapSelector(selector, (node) => node),
      selector,
    );
  });
  it("sees groups after their operands", () => {
    const seen: Op[] = [];
    mapSelector(parseSelector("!(has(a) && all())"), (node) => {
      seen.push(node.op);
      return node;
    });
    assert.deepEqual(seen, [Op.has, Op.all, Op.and, Op.not]);
  });
});

describe("normaliseSelector()", () => {
  it("gives the canonical form, or the input where it cannot be read", () => {
    assert.equal(normaliseSelector("a  ==  'A' "), 'a == "A"');
    assert.equal(normaliseSelector(" a = 'A'"), " a = 'A'");
  });
});

describe("nodes made by a program", () => {
  it("format like parsed ones", () => {
    assert.equal(new Selector(compareLabel(Op.equal, "a", 'b"')).text, `a == 'b"'`);
    assert.equal(new Selector(labelInSet(Op.in, "a", ["c", "b", "c"])).text, 'a in {"b", "c"}');
    assert.equal(new Selector(GLOBAL).text, "global()");
  });
  it("throw for what the language cannot write", () => {
    const refused = { code: "SELECTOR_UNWRITABLE" };
    assert.throws(() => hasLabel(""), refused);
    assert.throws(() => hasLabel("a b"), refused);
    assert.throws(() => hasLabel("a) || has(b"), refused);
    assert.throws(() => compareLabel(Op.equal, "a", `"'`), refused);
    assert.throws(() => labelInSet(Op.in, "a", [`"'`]), refused);
  });
});
