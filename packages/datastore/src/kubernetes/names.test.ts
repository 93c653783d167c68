import assert from "node:assert/strict";
import { test } from "node:test";
import { formatKey, parseKey } from "@bulrush/model";
import fc from "fast-check";
import { DatastoreError } from "../errors.ts";
import { cidrOfName } from "../process/raw-processor.ts";
import { hostnameHash } from "./hostname-hash.ts";
import { parseProfileName } from "./profile.ts";
import { translateUid } from "./uid.ts";
import { formatWorkloadName, formatWorkloadPrefix, parseWorkloadName, workloadInterfaceName } from "./workload-name.ts";

test("workloadInterfaceName() hashes namespace and pod after the first prefix", () => {
  assert.equal(workloadInterfaceName("default", "podA"), "cali7f94ce7c295");
  assert.equal(workloadInterfaceName("namespace", "podname", "eni,veth,foo"), "eni82111e10a96");
});

test("translateUid() refuses what is no UUID", () => {
  assert.throws(() => translateUid("not-a-uid"), DatastoreError);
});

test("translateUid() is its own inverse and keeps version and variant", () => {
  fc.assert(
    fc.property(fc.uuid(), (uid) => {
      const other = translateUid(uid);
      assert.equal(translateUid(other), uid);
      assert.equal(other[14], uid[14]);
      assert.equal(other[19], uid[19]);
    }),
  );
});

test("hostnameHash() is the base32 of the SHA3-256", () => {
  assert.equal(hostnameHash("node-1"), "A3XPYDATRKB7Q4SM2O5FN4RXIHBFIL2PITFX26BAIP5XAB2X74CA");
});

test("formatWorkloadName() doubles the dashes of each part", () => {
  const pod = { node: "node-1", orchestrator: "k8s", workload: "pod-name", endpoint: "eth0" };
  assert.equal(formatWorkloadName(pod), "node--1-k8s-pod--name-eth0");
  const other = { node: "node-1", orchestrator: "foo", workload: "foo-foo", endpoint: "abcdefgh" };
  assert.equal(formatWorkloadName(other), "node--1-foo-foo--foo-abcdefgh");
});

test("formatWorkloadName() names the part that is missing", () => {
  const name = { node: "node-1", orchestrator: "k8s", workload: "", endpoint: "eth0" };
  assert.throws(() => formatWorkloadName(name), /The pod of a workload endpoint/);
  assert.throws(() => formatWorkloadName({ ...name, workload: "-x" }), /The pod/);
});

test("formatWorkloadPrefix() ends after the last part that is given", () => {
  assert.equal(formatWorkloadPrefix({ node: "node-1", orchestrator: "k8s" }), "node--1-k8s-");
});

test("parseWorkloadName() wants four parts", () => {
  const parts = { node: "node", orchestrator: "k8s", workload: "pod-name", endpoint: "" };
  assert.deepEqual(parseWorkloadName("node-k8s-pod--name-"), parts);
  assert.equal(parseWorkloadName(""), undefined);
  assert.equal(parseWorkloadName("a-b-c-d-e"), undefined);
});

test("parseWorkloadName() reads what formatWorkloadName() writes", () => {
  const part = fc.stringMatching(/^[a-z0-9](?:[-a-z0-9.]{0,10}[a-z0-9])?$/);
  fc.assert(
    fc.property(fc.tuple(part, part, part, part), ([node, orchestrator, workload, endpoint]) => {
      const name = { node, orchestrator, workload, endpoint };
      assert.deepEqual(parseWorkloadName(formatWorkloadName(name)), name);
    }),
  );
});

test("parseProfileName() tells namespaces from service accounts", () => {
  assert.deepEqual(parseProfileName("kns.default"), { namespace: "default" });
  assert.deepEqual(parseProfileName("ksa.default.test.foo"), { namespace: "default", serviceAccount: "test.foo" });
  assert.equal(parseProfileName("other"), undefined);
});

test("cidrOfName() reads the names of blocks", () => {
  assert.equal(cidrOfName("10-0-128-0-17"), "10.0.128.0/17");
  assert.equal(cidrOfName("fd00-10---122"), "fd00:10::/122");
  assert.equal(cidrOfName("x"), undefined);
  assert.equal(cidrOfName("foo-bar"), undefined);
});

test("parseKey() reads pool and policy paths", () => {
  assert.deepEqual(parseKey("/calico/v1/ipam/v4/pool/10.0.0.0-8"), { type: "IPPool", cidr: "10.0.0.0/8" });
  assert.equal(parseKey("/calico/v1/ipam/v4/pool/577559"), undefined);
  const global = { type: "Policy", kind: "GlobalNetworkPolicy", namespace: "", name: "g" } as const;
  assert.deepEqual(parseKey("/calico/v1/policy/GlobalNetworkPolicy//g"), global);
  assert.equal(formatKey(global), "/calico/v1/policy/GlobalNetworkPolicy//g");
  assert.equal(parseKey("/calico/v1/policy/NetworkPolicy//g"), undefined);
});
