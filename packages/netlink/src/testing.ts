/** What tests of this and other packages share: `@bulrush/netlink/testing`. Not for programs. */
export { fuzzReader } from "./testing/fuzz.ts";
export { kernelTests } from "./testing/kernel-tests.ts";
export { runReadme } from "./testing/run-readme.ts";
