import assert from "node:assert/strict";
import { test } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import { parseDataplaneConfig } from "../config/parse-config.ts";
import { openHostKernel } from "../kernel/host-kernel.ts";
import { withSupportedIpv6 } from "./ipv6-support.ts";

kernelTests(import.meta.filename, () => {
  test("a kernel that takes rules of IPv6 gets them though it has no settings of it, and nothing is written to find out", () => {
    const kernel = openHostKernel();
    try {
      const { config } = parseDataplaneConfig(new Map());
      // As where it was started with ipv6.disable=1.
      const sysctls = {
        read: (path: string) => (path.startsWith("net/ipv6/") ? undefined : kernel.sysctls.read(path)),
        write: assert.fail,
      };
      const generation = kernel.nft.generation();
      assert.equal(withSupportedIpv6(config, { nft: kernel.nft, sysctls }, assert.fail), config);
      assert.equal(kernel.nft.generation(), generation);
    } finally {
      kernel.close();
    }
  });
});
