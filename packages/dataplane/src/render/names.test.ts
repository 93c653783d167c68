import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { boundedName, endpointChain, netSetName, policyChain, profileChain, setName } from "./names.ts";

const hash = (text: string): string => createHash("sha256").update(text).digest("base64url");

describe("boundedName()", () => {
  it("joins prefix and suffix, when they fit", () => {
    assert.equal(boundedName("cali-tw-", "cali1234", 40), "cali-tw-cali1234");
    assert.equal(boundedName("ab-", "x".repeat(37), 40), `ab-${"x".repeat(37)}`);
  });

  it("hashes a suffix that is too long, empty or not a bare word", () => {
    assert.equal(boundedName("ab-", "x".repeat(38), 40), `ab-_${hash("x".repeat(38))}`.slice(0, 40));
    assert.equal(boundedName("ab-", "", 100), `ab-_${hash("")}`);
    assert.equal(boundedName("ab-", "eth0:1", 100), `ab-_${hash("eth0:1")}`);
  });

  it("hashes a suffix that looks like a hash: at the limit, beginning with _", () => {
    const suffix = `_${"x".repeat(36)}`;
    assert.equal(boundedName("ab-", suffix, 40), `ab-_${hash(suffix)}`.slice(0, 40));
    assert.equal(boundedName("ab-", "_short", 40), "ab-_short");
  });
});

it("policyChain() keeps the longest name of any layer within the kernel's 255 bytes", () => {
  const id = { kind: "KubernetesClusterNetworkPolicy", namespace: "n".repeat(63), name: "p".repeat(253) } as const;
  assert.ok(`mangle-${policyChain("egress", id)}`.length <= 255);
  assert.equal(
    policyChain("ingress", { kind: "NetworkPolicy", namespace: "default", name: "allow.dns" }),
    "cali-pi-np/default/allow.dns",
  );
});

it("profileChain() and endpointChain() have the prefix of their direction", () => {
  assert.equal(profileChain("ingress", "kns.default"), "cali-pri-kns.default");
  assert.equal(profileChain("egress", "kns.default"), "cali-pro-kns.default");
  assert.equal(endpointChain("workload", "ingress", "cali1"), "cali-tw-cali1");
  assert.equal(endpointChain("workload", "egress", "cali1"), "cali-fw-cali1");
  assert.equal(endpointChain("host", "ingress", "eth0"), "cali-fh-eth0");
  assert.equal(endpointChain("forward", "egress", "eth0"), "cali-thfw-eth0");
});

it("setName() cuts at 31 characters and has no colons; netSetName() differs from every setName()", () => {
  const id = "s:5y5I3VdRZfDU01O--xXAPx2yxCQQqMf0M6IWug";
  assert.equal(setName(4, id), "cali40s-5y5I3VdRZfDU01O--xXAPx2");
  assert.equal(setName(4, id).length, 31);
  assert.equal(setName(6, "all-istio-weps"), "cali60all-istio-weps");
  assert.ok(netSetName(4, id).length > 31);
});
