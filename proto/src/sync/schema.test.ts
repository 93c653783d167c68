import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { PROTO_ERROR_CODES } from "./errors.ts";
import { describeSchema, schemaHash } from "./schema.ts";
import { MESSAGE_TABLES } from "./tables.ts";
import { negotiateVersion, OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION, PROTOCOL_VERSIONS } from "./versions.ts";

const README = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

/** The tables of the README's section on messages, in the words of `describeSchema`. */
function readmeSchema(): string {
  const section = /\n## Messages\n([\s\S]*?)\n## /.exec(README)?.[1] ?? "";
  const lines: string[] = [];
  for (const line of section.split("\n")) {
    const heading = /^#### (.*)$/.exec(line);
    if (heading?.[1] !== undefined) lines.push(heading[1]);
    const row = /^\| (\d+) \| (\S+) \| (.*?) \| .* \|$/.exec(line);
    if (row !== null) lines.push(`  ${row[1]} ${row[2]}: ${row[3]}`);
  }
  return lines.join("\n");
}

function readmeTable(section: string): [string, string][] {
  const text = new RegExp(`\\n## ${section}\\n([\\s\\S]*?)(\\n## |$)`).exec(README)?.[1] ?? "";
  return [...text.matchAll(/^\| (\S+) \| (.*) \|$/gm)]
    .map((match): [string, string] => [match[1] ?? "", match[2] ?? ""])
    .filter(([first]) => !/^(-+|Code|Version)$/.test(first) && !first.startsWith("-"));
}

test("the wire format is the one that the newest version pins: change it only with a new version", () => {
  assert.equal(PROTOCOL_VERSIONS.at(-1)?.schemaHash, schemaHash());
});

test("versions are numbered from 1, and each has a schema of its own", () => {
  assert.deepEqual(
    PROTOCOL_VERSIONS.map(({ version }) => version),
    PROTOCOL_VERSIONS.map((_, index) => index + 1),
  );
  assert.equal(PROTOCOL_VERSION, PROTOCOL_VERSIONS.length);
  assert.equal(new Set(PROTOCOL_VERSIONS.map(({ schemaHash: hash }) => hash)).size, PROTOCOL_VERSIONS.length);
});

test("negotiateVersion() takes the highest that both speak", () => {
  assert.equal(negotiateVersion(PROTOCOL_VERSION + 5), PROTOCOL_VERSION);
  assert.equal(negotiateVersion(OLDEST_PROTOCOL_VERSION), OLDEST_PROTOCOL_VERSION);
  assert.equal(negotiateVersion(OLDEST_PROTOCOL_VERSION - 1), undefined);
});

test("message numbers are unique", () => {
  const ids = Object.values(MESSAGE_TABLES).map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});

test("the README's tables are the code's", () => {
  assert.equal(readmeSchema(), describeSchema());
  assert.deepEqual(readmeTable("Errors"), Object.entries(PROTO_ERROR_CODES));
  assert.deepEqual(
    readmeTable("Versions"),
    PROTOCOL_VERSIONS.map(({ version, changes }): [string, string] => [String(version), changes]),
  );
});
