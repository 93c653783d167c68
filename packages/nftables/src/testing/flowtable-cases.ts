import { type ComplianceCase, FORWARD, offload, T } from "./fixture.ts";

/** A device that every network namespace has. */
const DEVICE = "lo";

const EMPTY = { name: "f", devices: [] };
const WITH_DEVICE = { name: "f", devices: [DEVICE] };

/** Flow tables. */
export const FLOWTABLE_CASES: readonly ComplianceCase[] = [
  { name: "N17: add-flowtable without devices works", run: (tx) => tx.addFlowtable(T, EMPTY) },
  { name: "add-flowtable with a device works", run: (tx) => tx.addFlowtable(T, WITH_DEVICE) },
  {
    name: "add-flowtable again works, and adds devices",
    before: (tx) => tx.addFlowtable(T, EMPTY),
    run: (tx) => tx.addFlowtable(T, WITH_DEVICE),
  },
  {
    name: "add-flowtable with a device that it has works",
    before: (tx) => tx.addFlowtable(T, WITH_DEVICE),
    run: (tx) => tx.addFlowtable(T, WITH_DEVICE),
  },
  {
    name: "add-flowtable exclusive fails when it is there",
    before: (tx) => tx.addFlowtable(T, EMPTY),
    run: (tx) => tx.push({ kind: "add-flowtable", table: T, flowtable: EMPTY, exclusive: true }),
    fails: ["0 EEXIST"],
  },
  {
    name: "add-flowtable in a missing table fails",
    run: (tx) => tx.addFlowtable({ family: "ip", name: "none" }, EMPTY),
    fails: ["0 ENOENT"],
  },
  {
    name: "add-flowtable with a device that another one has fails",
    before: (tx) => tx.addFlowtable(T, { ...WITH_DEVICE, name: "other" }),
    run: (tx) => tx.addFlowtable(T, WITH_DEVICE),
    fails: ["0 EEXIST"],
  },
  { name: "delete-flowtable of a missing one fails", run: (tx) => tx.deleteFlowtable(T, "none"), fails: ["0 ENOENT"] },
  {
    name: "delete-flowtable takes its devices along",
    before: (tx) => tx.addFlowtable(T, WITH_DEVICE),
    run: (tx) => tx.deleteFlowtable(T, "f").addFlowtable(T, { ...WITH_DEVICE, name: "other" }),
  },
  {
    name: "delete-flowtable that a rule uses fails",
    before: (tx) => tx.addFlowtable(T, EMPTY).addChain(T, "fw", FORWARD).addRule(T, "fw", offload("f")),
    run: (tx) => tx.deleteFlowtable(T, "f"),
    fails: ["0 EBUSY"],
  },
  {
    name: "a flow table is remade in one transaction with the rule that uses it",
    before: (tx) => tx.addFlowtable(T, WITH_DEVICE).addChain(T, "fw", FORWARD).addRule(T, "fw", offload("f")),
    run: (tx) =>
      tx.flushChain(T, "fw").deleteFlowtable(T, "f").addFlowtable(T, WITH_DEVICE).addRule(T, "fw", offload("f")),
  },
  {
    name: "delete-flowtable-devices works",
    before: (tx) => tx.addFlowtable(T, WITH_DEVICE),
    run: (tx) => tx.deleteFlowtableDevices(T, WITH_DEVICE),
  },
  {
    name: "delete-flowtable-devices of one that it has not fails",
    before: (tx) => tx.addFlowtable(T, EMPTY),
    run: (tx) => tx.deleteFlowtableDevices(T, WITH_DEVICE),
    fails: ["0 ENOENT"],
  },
  {
    name: "add-rule that hands flows to a missing flow table fails",
    before: (tx) => tx.addChain(T, "fw", FORWARD),
    run: (tx) => tx.addRule(T, "fw", offload("f")),
    fails: ["0 ENOENT"],
  },
  {
    name: "delete-table takes a flow table with it",
    before: (tx) => tx.addFlowtable(T, WITH_DEVICE).addChain(T, "fw", FORWARD).addRule(T, "fw", offload("f")),
    run: (tx) => tx.deleteTable(T).addTable(T).addFlowtable(T, WITH_DEVICE),
  },
];
