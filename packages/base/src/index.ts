export { assert, AssertionError, must, unreachable } from "./assert.ts";
export { Backoff, type BackoffOptions } from "./backoff.ts";
export { BoundedQueue } from "./bounded-queue.ts";
export { type CancelTimer, type Clock, sleep, systemClock } from "./clock.ts";
export { CodedError, type CodedErrorOptions, hasCode, messageOf } from "./coded-error.ts";
export { compareStrings } from "./compare.ts";
export { ManualClock } from "./manual-clock.ts";
export { nearestName } from "./nearest-name.ts";
export { base64Url, sha224 } from "./sha224.ts";
