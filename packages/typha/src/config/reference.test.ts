import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { renderReference } from "@bulrush/service";
import { DEFAULT_CONFIG_FILE } from "./load-typha-config.ts";
import { TYPHA_TABLE } from "./typha-table.ts";

const FILE = new URL("../../SETTINGS.md", import.meta.url);

test("SETTINGS.md is what the table says (REWRITE=1 writes it anew)", () => {
  const text = renderReference(TYPHA_TABLE, {
    prefix: "TYPHA_",
    title: "Settings of bulrush-typha",
    filePath: DEFAULT_CONFIG_FILE,
  });
  if (process.env["REWRITE"] === "1") writeFileSync(FILE, text);
  assert.equal(readFileSync(FILE, "utf8"), text);
});
