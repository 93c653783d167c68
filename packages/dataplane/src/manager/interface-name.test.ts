import assert from "node:assert/strict";
import { it } from "node:test";
import { canBeInterface } from "./interface-name.ts";

it("canBeInterface() holds names to what the kernel takes", () => {
  for (const name of ["eth0", "cali89012345678", "*", "a.b", "...", 'cali"', "califé"])
    assert.ok(canBeInterface(name), JSON.stringify(name));
  const none = ["", "cali890123456789", "caliéééééé", ".", "..", "a/b", "a:b", "a b", "a\n"];
  // One name with "cali1" to nf_tables, which refuses the whole ruleset for it; and what no bytes stand for.
  for (const name of [...none, "cali1\0", "cali1\0x", "\0", "cali\ud800"])
    assert.ok(!canBeInterface(name), JSON.stringify(name));
});
