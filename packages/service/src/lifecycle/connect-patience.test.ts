import assert from "node:assert/strict";
import { getDefaultAutoSelectFamilyAttemptTimeout as patienceMs } from "node:net";
import { test } from "node:test";
import { waitForSlowAddresses } from "./connect-patience.ts";

test("waitForSlowAddresses() leaves time for a lost SYN to be sent again", () => {
  waitForSlowAddresses();
  assert.ok(patienceMs() > 1000);
});
