import assert from "node:assert/strict";
import { test } from "node:test";
import { formatRule } from "../format/format-rule.ts";
import { RULE_CATALOGUE } from "../testing/rule-catalogue.ts";
import { ruleKey } from "./rule-key.ts";
import { shareStatement } from "./shared-statement.ts";

for (const { families, statements, text, key } of RULE_CATALOGUE)
  for (const family of families) {
    test(`ruleKey() of '${text}' in ${family} is what nft makes of it`, () => {
      assert.equal(ruleKey({ statements }, family), key);
    });

    test(`ruleKey() of '${text}' in ${family} is the same when its statements are shared, the first time and later`, () => {
      const shared = statements.map((statement) => shareStatement(structuredClone(statement)));
      for (const rule of [{ statements: shared }, { statements: [...shared] }])
        assert.equal(ruleKey(rule, family), key);
    });

    test(`formatRule() gives '${text}' in ${family}`, () => {
      assert.equal(formatRule({ statements }, family), text);
    });
  }
