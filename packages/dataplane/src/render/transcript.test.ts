import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { rewriteTranscript, runTranscript } from "../testing/transcript.ts";

/** BULRUSH_REWRITE=1 writes what is printed now into the files; the change is then reviewed against the spec. */
const REWRITE = process.env["BULRUSH_REWRITE"] === "1";

const FOLDER = new URL("../../testdata/render/", import.meta.url);

const files = readdirSync(FOLDER).filter((name) => name.endsWith(".txt"));

describe("renderRuleset() gives what the transcripts say", () => {
  it("has transcripts to compare with", () => assert.ok(files.length > 0));
  for (const file of files)
    it(file, () => {
      const url = new URL(file, FOLDER);
      const blocks = runTranscript(readFileSync(url, "utf8"));
      if (REWRITE) writeFileSync(url, rewriteTranscript(blocks));
      else for (const { actual, expected } of blocks) assert.equal(actual, expected);
    });
});
