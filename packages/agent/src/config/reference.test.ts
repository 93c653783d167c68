import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { renderReference } from "@bulrush/service";
import { changeInWords } from "./config-change.ts";
import { DEFAULT_CONFIG_FILE, FELIX_CONFIG, FELIX_PREFIX } from "./felix-config.ts";

const PATH = join(import.meta.dirname, "../../SETTINGS.md");

test("SETTINGS.md is what the table of settings makes (UPDATE_SETTINGS=1 writes it)", () => {
  const page = renderReference(FELIX_CONFIG, {
    prefix: FELIX_PREFIX,
    title: "Settings of bulrush-agent",
    filePath: DEFAULT_CONFIG_FILE,
    change: changeInWords,
  });
  if (process.env["UPDATE_SETTINGS"] === "1") writeFileSync(PATH, page);
  assert.equal(readFileSync(PATH, "utf8"), page);
});
