import assert from "node:assert/strict";
import { test } from "node:test";
import { formatRule } from "../format/format-rule.ts";
import { RULE_CATALOGUE } from "../testing/rule-catalogue.ts";
import { ruleKey } from "./rule-key.ts";

for (const { families, statements, text, key } of RULE_CATALOGUE)
  for (const family of families) {
    test(`ruleKey() of '${text}' in ${family} is what nft makes of it`, () => {
      assert.equal(ruleKey({ statements }, family), key);
    });

    test(`formatRule() gives '${text}' in ${family}`, () => {
      assert.equal(formatRule({ statements }, family), text);
    });
  }
