import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DataplaneHostEndpoint } from "@bulrush/proto";
import { hostEndpoint } from "../testing/messages.ts";
import { matchHostEndpoints } from "./host-endpoint-match.ts";
import type { Interface } from "./interfaces.ts";

const nic = (name: string, index: number, ...addresses: readonly string[]): Interface => ({
  name,
  index,
  up: true,
  mtu: 1500,
  addresses: new Set(addresses),
});

const INTERFACES = [nic("eth0", 2, "192.168.0.7", "fd00::7"), nic("eth1", 3, "10.0.0.7")];

/** "eth0=a eth1=b *=c" */
const match = (...endpoints: readonly (readonly [id: string, fields: Partial<DataplaneHostEndpoint>])[]): string => {
  const byId = new Map(endpoints.map(([id, fields]) => [id, hostEndpoint(id, fields).endpoint]));
  const { byInterface, wildcard } = matchHostEndpoints(byId, INTERFACES);
  const words = [...byInterface].map(([name, id]) => `${name}=${id}`).sort();
  return [...words, ...(wildcard === undefined ? [] : [`*=${wildcard}`])].join(" ");
};

describe("matchHostEndpoints()", () => {
  it("gives a named interface to its endpoint, whatever addresses it expects", () => {
    assert.equal(match(["a", { name: "eth0", expected_ipv4_addrs: ["1.2.3.4"] }]), "eth0=a");
  });

  it("guards a named interface before it exists", () => {
    assert.equal(match(["a", { name: "eth7" }]), "eth7=a");
  });

  // projectcalico/felix#1280
  it("gives nothing to a name that no interface can have", () => {
    assert.equal(match(["a", { name: "enp3s0f0.803@enp3s0f0" }], ["b", { name: "eth0" }]), "eth0=b");
  });

  it("finds the interface by any expected address, in any spelling", () => {
    assert.equal(match(["a", { expected_ipv4_addrs: ["10.9.9.9", "10.0.0.7"] }]), "eth1=a");
    assert.equal(match(["a", { expected_ipv6_addrs: ["FD00:0::7"] }]), "eth0=a");
    assert.equal(match(["a", { expected_ipv4_addrs: ["10.9.9.9"] }]), "");
  });

  it("guards each interface that has one of the expected addresses", () => {
    assert.equal(match(["a", { expected_ipv4_addrs: ["192.168.0.7", "10.0.0.7"] }]), "eth0=a eth1=a");
    assert.equal(
      match(["b", { expected_ipv4_addrs: ["10.0.0.7"], expected_ipv6_addrs: ["fd00::7"] }], ["a", { name: "eth1" }]),
      "eth0=b eth1=a",
    );
  });

  it("gives an interface that several match to the lowest id", () => {
    assert.equal(match(["b", { name: "eth0" }], ["a", { expected_ipv4_addrs: ["192.168.0.7"] }]), "eth0=a");
    assert.equal(match(["b", { name: "*" }], ["a", { name: "*" }]), "*=a");
  });
});
