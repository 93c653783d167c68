import assert from "node:assert/strict";
import { test } from "node:test";
import { defineConfig } from "./parameter.ts";
import { renderReference } from "./reference.ts";
import { int, oneOf, text } from "./types.ts";

test("renderReference() has a row for each setting with type, default and notes", () => {
  const page = renderReference(
    defineConfig<{ Mode: string; Limit: number; Path: string; Name: string }>({
      Mode: { type: oneOf(["a", "b"]), default: "a", doc: "Picks a|b.", dieOnFail: true, nonZero: true },
      Limit: { type: int({ min: 1 }), default: 5, doc: "Most.", noEffect: "there is no limit" },
      Path: { type: text(), default: "", doc: "Where.", local: true },
      Name: { type: text(), default: "myhost", defaultDoc: "the host's name", doc: "Who." },
    }),
    { prefix: "X_", title: "Settings of x", filePath: "/etc/x.cfg" },
  );
  assert.match(page, /^# Settings of x\n/);
  assert.deepEqual(page.split("\n").slice(-5), [
    "| `Mode`<br>`X_MODE` | one of a, b | `a` | Picks a\\|b. A bad value stops the start. `none` is refused. |",
    "| `Limit`<br>`X_LIMIT` | integer, 1 or more | `5` | Most. Accepted, no effect, because there is no limit. |",
    "| `Path`<br>`X_PATH` | text | (unset) | Where. Not read from the datastore. |",
    "| `Name`<br>`X_NAME` | text | the host's name | Who. |",
    "",
  ]);
});
