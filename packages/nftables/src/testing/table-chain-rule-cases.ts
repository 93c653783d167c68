import { ACCEPT, type ComplianceCase, HASH, INPUT, inSet, jump, MAP, OUTPUT, T, VMAP } from "./fixture.ts";

/** Tables, chains and rules. */
export const TABLE_CHAIN_RULE_CASES: readonly ComplianceCase[] = [
  { name: "add-table again works", idle: true, run: (tx) => tx.addTable(T) },
  {
    name: "add-table puts a table to sleep",
    before: (tx) => tx.addChain(T, "in", INPUT).addRule(T, "in", ACCEPT),
    run: (tx) => tx.addTable(T, true),
  },
  {
    name: "add-table again leaves a table asleep",
    before: (tx) => tx.addTable(T, true),
    idle: true,
    run: (tx) => tx.addTable(T),
  },
  {
    name: "add-table wakes a table, beside changes of chains and rules",
    before: (tx) => tx.addTable(T, true),
    run: (tx) => tx.addTable(T, false).addChain(T, "a").addRule(T, "a", ACCEPT),
  },
  {
    name: "add-chain hangs no chain on a hook in a transaction that wakes the table",
    before: (tx) => tx.addTable(T, true),
    run: (tx) => tx.addTable(T, false).addChain(T, "in", INPUT),
    fails: ["1 EINVAL"],
  },
  {
    name: "add-table does not wake a table and put it to sleep in one transaction",
    before: (tx) => tx.addTable(T, true),
    run: (tx) => tx.addTable(T, false).addTable(T, true),
    fails: ["1 EINVAL"],
  },
  { name: "add-table wakes no table that is awake", idle: true, run: (tx) => tx.addTable(T, false) },
  {
    name: "add-table exclusive fails when it is there",
    run: (tx) => tx.push({ kind: "add-table", table: T, exclusive: true }),
    fails: ["0 EEXIST"],
  },
  {
    name: "add-table with a name of 300 bytes fails",
    run: (tx) => tx.addTable({ family: "ip", name: "x".repeat(300) }),
    fails: ["0 ERANGE"],
  },
  {
    name: "delete-table of a missing table fails",
    run: (tx) => tx.deleteTable({ family: "ip", name: "none" }),
    fails: ["0 ENOENT"],
  },
  {
    name: "delete-table takes everything with it, and can be followed by its making",
    before: (tx) =>
      tx
        .addChain(T, "in", INPUT)
        .addChain(T, "a")
        .addRule(T, "in", jump("a"))
        .addMap(T, MAP)
        .addMapElements(T, MAP, [["x", { kind: "goto", chain: "a" }]]),
    run: (tx) => tx.addTable(T).deleteTable(T).addTable(T).addChain(T, "a"),
  },
  {
    name: "add-chain in a missing table fails",
    run: (tx) => tx.addChain({ family: "ip", name: "none" }, "a"),
    fails: ["0 ENOENT"],
  },
  {
    name: "add-chain again works",
    before: (tx) => tx.addChain(T, "a").addRule(T, "a", ACCEPT),
    run: (tx) => tx.addChain(T, "a"),
  },
  {
    name: "add-chain exclusive fails when it is there",
    before: (tx) => tx.addChain(T, "a"),
    run: (tx) => tx.push({ kind: "add-chain", table: T, chain: "a", exclusive: true }),
    fails: ["0 EEXIST"],
  },
  { name: "add-chain with a name of 255 bytes works", run: (tx) => tx.addChain(T, "x".repeat(255)) },
  {
    name: "add-chain with a name of 256 bytes fails",
    run: (tx) => tx.addChain(T, "x".repeat(256)),
    fails: ["0 ERANGE"],
  },
  {
    name: "add-chain changes the policy of a base chain",
    before: (tx) => tx.addChain(T, "in", INPUT),
    run: (tx) => tx.addChain(T, "in", { ...INPUT, policy: "drop" }),
  },
  {
    name: "add-chain cannot change a priority",
    before: (tx) => tx.addChain(T, "in", INPUT),
    run: (tx) => tx.addChain(T, "in", { ...INPUT, priority: 5 }),
    fails: ["0 EOPNOTSUPP"],
  },
  {
    name: "add-chain cannot change a hook",
    before: (tx) => tx.addChain(T, "in", INPUT),
    run: (tx) => tx.addChain(T, "in", OUTPUT),
    fails: ["0 EOPNOTSUPP"],
  },
  {
    name: "add-chain cannot hang a chain on a hook",
    before: (tx) => tx.addChain(T, "a"),
    run: (tx) => tx.addChain(T, "a", INPUT),
    fails: ["0 EOPNOTSUPP"],
  },
  {
    name: "a base chain is remade in one transaction",
    before: (tx) => tx.addChain(T, "in", INPUT),
    run: (tx) => tx.deleteChain(T, "in").addChain(T, "in", { ...INPUT, priority: 5 }),
  },
  { name: "delete-chain of a missing chain fails", run: (tx) => tx.deleteChain(T, "none"), fails: ["0 ENOENT"] },
  {
    name: "delete-chain with rules works",
    before: (tx) => tx.addChain(T, "a").addChain(T, "b").addRule(T, "a", jump("b")),
    run: (tx) => tx.deleteChain(T, "a"),
  },
  {
    name: "delete-chain that is jumped to fails",
    before: (tx) => tx.addChain(T, "a").addChain(T, "b").addRule(T, "a", jump("b")),
    run: (tx) => tx.deleteChain(T, "b"),
    fails: ["0 EBUSY"],
  },
  {
    name: "delete-chain fails when the flush comes later",
    before: (tx) => tx.addChain(T, "a").addChain(T, "b").addRule(T, "a", jump("b")),
    run: (tx) => tx.deleteChain(T, "b").flushChain(T, "a"),
    fails: ["0 EBUSY"],
  },
  {
    name: "delete-chain works when the flush comes first",
    before: (tx) => tx.addChain(T, "a").addChain(T, "b").addRule(T, "a", jump("b")),
    run: (tx) => tx.flushChain(T, "a").deleteChain(T, "b"),
  },
  {
    name: "delete-chain that a map leads to fails",
    before: (tx) =>
      tx
        .addChain(T, "a")
        .addMap(T, MAP)
        .addMapElements(T, MAP, [["x", { kind: "goto", chain: "a" }]]),
    run: (tx) => tx.deleteChain(T, "a"),
    fails: ["0 EBUSY"],
  },
  {
    name: "delete-chain works when the map element went first",
    before: (tx) =>
      tx
        .addChain(T, "a")
        .addMap(T, MAP)
        .addMapElements(T, MAP, [["x", { kind: "goto", chain: "a" }]]),
    run: (tx) => tx.deleteMapElements(T, MAP, ["x"]).deleteChain(T, "a"),
  },
  { name: "flush-chain of a missing chain fails", run: (tx) => tx.flushChain(T, "none"), fails: ["0 ENOENT"] },
  { name: "add-rule to a missing chain fails", run: (tx) => tx.addRule(T, "none", ACCEPT), fails: ["0 ENOENT"] },
  {
    name: "add-rule that jumps nowhere fails",
    before: (tx) => tx.addChain(T, "a"),
    run: (tx) => tx.addRule(T, "a", jump("none")),
    fails: ["0 ENOENT"],
  },
  {
    name: "add-rule that jumps to a base chain fails",
    before: (tx) => tx.addChain(T, "a").addChain(T, "in", INPUT),
    run: (tx) => tx.addRule(T, "a", jump("in")),
    fails: ["0 EOPNOTSUPP"],
  },
  {
    name: "add-rule that looks into a missing set fails",
    before: (tx) => tx.addChain(T, "a"),
    run: (tx) => tx.addRule(T, "a", inSet("none")),
    fails: ["0 ENOENT"],
  },
  {
    name: "add-rule with a vmap of a set fails",
    before: (tx) => tx.addChain(T, "a").addSet(T, { name: "map", key: ["ifname"], interval: false }),
    run: (tx) => tx.addRule(T, "a", VMAP),
    fails: ["0 EINVAL"],
  },
  {
    name: "add-rule works with set, map and chain of the same transaction",
    run: (tx) =>
      tx
        .addChain(T, "a")
        .addChain(T, "b")
        .addSet(T, HASH)
        .addMap(T, MAP)
        .addRule(T, "a", inSet("hash"))
        .addRule(T, "a", VMAP)
        .addRule(T, "a", jump("b")),
  },
  {
    name: "delete-rule of a missing rule fails",
    before: (tx) => tx.addChain(T, "a"),
    run: (tx) => tx.deleteRule(T, "a", 99_999),
    fails: ["0 ENOENT"],
  },
  {
    name: "replace-rule of a missing rule fails",
    before: (tx) => tx.addChain(T, "a"),
    run: (tx) => tx.replaceRule(T, "a", 99_999, ACCEPT),
    fails: ["0 ENOENT"],
  },
  {
    name: "insert-rule before a missing rule fails",
    before: (tx) => tx.addChain(T, "a"),
    run: (tx) => tx.insertRule(T, "a", ACCEPT, 99_999),
    fails: ["0 ENOENT"],
  },
  {
    name: "every failing operation is named",
    run: (tx) => tx.addChain(T, "a").deleteChain(T, "none").addRule(T, "a", jump("none")).deleteSet(T, "none"),
    fails: ["1 ENOENT", "2 ENOENT", "3 ENOENT"],
  },
  {
    name: "flush-chain of an empty chain works",
    before: (tx) => tx.addChain(T, "a"),
    run: (tx) => tx.flushChain(T, "a"),
    idle: true,
  },
];
