/** What tests of this and other packages share: `@bulrush/netlink/testing`. Not for programs. */
export { FakeWireguard, wireguardPublicKey } from "./testing/fake-wireguard.ts";
export { fuzzReader } from "./testing/fuzz.ts";
export { kernelTests } from "./testing/kernel-tests.ts";
export { runReadme } from "./testing/run-readme.ts";
