import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type FlowSource, formatFlowPrefix, parseFlowPrefix } from "./flow-prefix.ts";

const SOURCE: FlowSource = {
  verdict: "deny",
  direction: "ingress",
  tier: "default",
  policy: "np/shop/web",
  rule: "rule 0",
};

const CASES: readonly (readonly [FlowSource, string])[] = [
  [SOURCE, "B1|D|I|default|np/shop/web|rule 0"],
  [{ ...SOURCE, verdict: "log", direction: "egress" }, "B1|L|E|default|np/shop/web|rule 0"],
  [{ ...SOURCE, policy: "", rule: "end of tier" }, "B1|D|I|default||end of tier"],
  [{ ...SOURCE, tier: "", policy: "", rule: "no profile" }, "B1|D|I|||no profile"],
  [{ ...SOURCE, tier: "", policy: "profile kns.shop" }, "B1|D|I||profile kns.shop|rule 0"],
];

describe("formatFlowPrefix()", () => {
  for (const [source, prefix] of CASES)
    it(prefix, () => {
      assert.equal(formatFlowPrefix(source), prefix);
      assert.deepEqual(parseFlowPrefix(prefix), source);
    });

  it("fits the kernel's 127 bytes and keeps long names apart", () => {
    const long = (tail: string): FlowSource => ({
      ...SOURCE,
      tier: "t".repeat(253),
      policy: `np/${"n".repeat(253)}${tail}`,
      rule: "rule 9999",
    });
    assert.ok(formatFlowPrefix(long("a")).length <= 127);
    assert.notEqual(formatFlowPrefix(long("a")), formatFlowPrefix(long("b")));
    assert.match(parseFlowPrefix(formatFlowPrefix(long("a")))?.policy ?? "", /^np\/n{40,}~[\w-]{8}$/);
  });

  it("is read back by parseFlowPrefix(), whatever the names are", () => {
    const name = fc.string({ unit: "binary", maxLength: 300 });
    fc.assert(
      fc.property(name, name, (tier, policy) => {
        const prefix = formatFlowPrefix({ ...SOURCE, tier, policy });
        assert.match(prefix, /^[ -~]{1,127}$/);
        assert.equal(parseFlowPrefix(prefix)?.rule, SOURCE.rule);
      }),
    );
  });
});

describe("parseFlowPrefix()", () => {
  for (const prefix of ["", "DPI|default", "B1|D|I|t|p", "B1|X|I|t|p|r", "B1|D|X|t|p|r", "B1|D|I|t|p|r|more"])
    it(`has nothing to say of "${prefix}"`, () => assert.equal(parseFlowPrefix(prefix), undefined));
});
