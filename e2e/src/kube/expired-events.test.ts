import assert from "node:assert/strict";
import { test } from "node:test";
import { ExpiredEvents } from "./expired-events.ts";

const GONE = `{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired","code":410}}\n`;
const OTHER = `{"type":"ERROR","object":{"kind":"Status","status":"Failure","message":"\\"code\\":4100","code":500}}\n`;
const ADDED = `{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"x","annotations":{"a":"{\\"type\\":\\"ERROR\\",\\"code\\":410"}}}}\n`;

test("ExpiredEvents counts the events that say 410, however the body is cut", () => {
  const body = Buffer.from(`${ADDED}${OTHER}${GONE}${ADDED}${GONE}`);
  for (const size of [1, 2, 7, 16, 100, body.length]) {
    let found = 0;
    const events = new ExpiredEvents(() => found++);
    for (let at = 0; at < body.length; at += size) events.push(body.subarray(at, at + size));
    assert.equal(found, 2, `in pieces of ${size}`);
  }
});
