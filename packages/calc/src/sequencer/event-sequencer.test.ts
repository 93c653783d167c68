import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConfigUpdate, Encapsulation, GlobalBGPConfigUpdate } from "@bulrush/proto";
import { parseSelector } from "@bulrush/selector";
import type { CalcMessage } from "../graph/message.ts";
import { ActiveIpSet } from "../sets/active-ip-set.ts";
import { selectorSet } from "../sets/ip-set-spec.ts";
import { EventSequencer } from "./event-sequencer.ts";
import type { PendingTable } from "./pending-table.ts";

class Rig {
  #messages: CalcMessage[] = [];
  readonly sequencer = new EventSequencer((message) => void this.#messages.push(message));

  flush(): CalcMessage[] {
    this.#messages = [];
    this.sequencer.flush();
    return this.#messages;
  }

  names(): string[] {
    return this.flush().map((message) => message.msg);
  }

  set(text: string): ActiveIpSet {
    return new ActiveIpSet(selectorSet(parseSelector(text)), this.sequencer.ipSets, true);
  }
}

/** One object of every kind that has updates and removes: its table with a message of each. */
function everyTable(sequencer: EventSequencer): [PendingTable<unknown, unknown>, string][] {
  const tables = [
    [sequencer.policies, "ActivePolicy"],
    [sequencer.profiles, "ActiveProfile"],
    [sequencer.workloads, "WorkloadEndpoint"],
    [sequencer.hosts, "HostEndpoint"],
    [sequencer.serviceAccounts, "ServiceAccount"],
    [sequencer.namespaces, "Namespace"],
    [sequencer.routes, "Route"],
    [sequencer.vteps, "VXLANTunnelEndpoint"],
    [sequencer.wireguard, "WireguardEndpoint"],
    [sequencer.wireguardV6, "WireguardEndpointV6"],
    [sequencer.hostMetadata, "HostMetadata"],
    [sequencer.pools, "IPAMPool"],
    [sequencer.services, "Service"],
  ];
  return tables as unknown as [PendingTable<unknown, unknown>, string][];
}

test("flush() sends what others depend on first, and removes it last", () => {
  const rig = new Rig();
  const { sequencer } = rig;
  const [kept, dropped, fresh] = [rig.set("has(a)"), rig.set("has(b)"), rig.set("has(c)")];
  sequencer.ipSets.onSetAdded(kept);
  sequencer.ipSets.onSetAdded(dropped);
  for (const [table, name] of everyTable(sequencer)) table.update("old", { msg: `${name}Update` });
  rig.flush();

  // Everything at once, in an order that is none.
  for (const [table, name] of everyTable(sequencer).reverse()) {
    table.remove("old", { msg: `${name}Remove` });
    table.update("new", { msg: `${name}Update` });
  }
  sequencer.ipSets.onSetRemoved(dropped);
  sequencer.ipSets.onSetAdded(fresh);
  kept.add("10.0.0.1/32");
  sequencer.onGlobalBgpConfig({ msg: "GlobalBGPConfigUpdate" } as GlobalBGPConfigUpdate);
  sequencer.onEncapsulation({ msg: "Encapsulation" } as Encapsulation);
  sequencer.onConfig({ msg: "ConfigUpdate" } as ConfigUpdate);
  sequencer.onDatastoreNotReady();
  assert.deepEqual(rig.names(), [
    "DatastoreNotReady",
    "ConfigUpdate",
    "IPSetUpdate",
    "IPSetDeltaUpdate",
    "ActivePolicyUpdate",
    "ActiveProfileUpdate",
    "WorkloadEndpointUpdate",
    "HostEndpointUpdate",
    "WorkloadEndpointRemove",
    "HostEndpointRemove",
    "ActiveProfileRemove",
    "ActivePolicyRemove",
    "IPSetRemove",
    "ServiceAccountRemove",
    "ServiceAccountUpdate",
    "NamespaceRemove",
    "NamespaceUpdate",
    "RouteRemove",
    "VXLANTunnelEndpointRemove",
    "VXLANTunnelEndpointUpdate",
    "RouteUpdate",
    "WireguardEndpointRemove",
    "WireguardEndpointUpdate",
    "WireguardEndpointV6Remove",
    "WireguardEndpointV6Update",
    "HostMetadataRemove",
    "HostMetadataUpdate",
    "IPAMPoolRemove",
    "IPAMPoolUpdate",
    "Encapsulation",
    "GlobalBGPConfigUpdate",
    "ServiceRemove",
    "ServiceUpdate",
  ]);
  assert.deepEqual(rig.flush(), []);
});

test("flush() collapses what happened to one object, of every kind", () => {
  const kinds = everyTable(new Rig().sequencer).length;
  for (let i = 0; i < kinds; i++) {
    const rig = new Rig();
    const [table, name] = everyTable(rig.sequencer)[i] ?? assert.fail();
    table.update("x", { msg: "first" });
    table.update("x", { msg: "last" });
    assert.deepEqual(rig.names(), ["last"], `${name}: the last update`);
    table.remove("y", { msg: "gone" });
    table.update("z", { msg: "new" });
    table.remove("z", { msg: "gone" });
    assert.deepEqual(rig.names(), [], `${name}: what was never sent is not removed`);
    table.remove("x", { msg: "gone" });
    table.update("x", { msg: "back" });
    assert.deepEqual(rig.names(), ["back"], `${name}: what comes back is updated only`);
    table.remove("x", { msg: "gone" });
    assert.deepEqual(rig.names(), ["gone"], name);
    table.remove("x", { msg: "gone" });
    assert.deepEqual(rig.names(), [], `${name}: removed once`);
    table.update("b", { msg: "b" });
    table.update("a", { msg: "a" });
    assert.deepEqual(rig.names(), ["a", "b"], `${name}: in order of id`);
  }
});

test("flush() puts the members of a new set into it, and later ones into one delta", () => {
  const rig = new Rig();
  const set = rig.set("has(a)");
  rig.sequencer.ipSets.onSetAdded(set);
  set.add("10.0.0.1/32");
  set.add("10.0.0.2/32");
  set.remove("10.0.0.1/32");
  assert.deepEqual(rig.flush(), [{ msg: "IPSetUpdate", id: set.id, members: ["10.0.0.2/32"], type: "NET" }]);
  set.add("10.0.0.3/32");
  set.remove("10.0.0.2/32");
  set.add("10.0.0.4/32");
  set.remove("10.0.0.4/32");
  assert.deepEqual(rig.flush(), [
    {
      msg: "IPSetDeltaUpdate",
      id: set.id,
      added_members: ["10.0.0.3/32"],
      removed_members: ["10.0.0.2/32"],
    },
  ]);
  set.remove("10.0.0.3/32");
  set.add("10.0.0.3/32");
  assert.deepEqual(rig.flush(), [], "what cancels is not sent");
});

test("flush() replaces a set that went and came back by a full update", () => {
  const rig = new Rig();
  const set = rig.set("has(a)");
  rig.sequencer.ipSets.onSetAdded(set);
  set.add("10.0.0.1/32");
  rig.flush();
  set.add("10.0.0.9/32");
  rig.sequencer.ipSets.onSetRemoved(set);
  const again = rig.set("has(a)");
  rig.sequencer.ipSets.onSetAdded(again);
  again.add("10.0.0.2/32");
  assert.deepEqual(rig.flush(), [{ msg: "IPSetUpdate", id: set.id, members: ["10.0.0.2/32"], type: "NET" }]);
  rig.sequencer.ipSets.onSetRemoved(again);
  const third = rig.set("has(a)");
  rig.sequencer.ipSets.onSetAdded(third);
  rig.sequencer.ipSets.onSetRemoved(third);
  assert.deepEqual(rig.names(), ["IPSetRemove"]);
});

test("IP set calls out of order are bugs", () => {
  const rig = new Rig();
  const set = rig.set("has(a)");
  const { ipSets } = rig.sequencer;
  assert.throws(() => set.add("10.0.0.1/32"), /not known/);
  assert.throws(() => ipSets.onSetRemoved(set), /not known/);
  ipSets.onSetAdded(set);
  assert.throws(() => ipSets.onSetAdded(set), /added twice/);
  rig.flush();
  assert.throws(() => ipSets.onSetAdded(set), /was sent/);
  ipSets.onSetRemoved(set);
  assert.throws(() => ipSets.onSetRemoved(set), /not known/);
});
