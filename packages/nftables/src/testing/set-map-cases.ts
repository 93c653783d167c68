import {
  addTo,
  type ComplianceCase,
  DYNAMIC,
  HASH,
  INPUT,
  inSet,
  MAP,
  NETS,
  PORTS,
  SIZED,
  T,
  VMAP,
} from "./fixture.ts";

/** Sets and maps, and their elements. */
export const SET_MAP_CASES: readonly ComplianceCase[] = [
  { name: "add-set again works", before: (tx) => tx.addSet(T, HASH), run: (tx) => tx.addSet(T, HASH) },
  {
    name: "add-set with another key fails",
    before: (tx) => tx.addSet(T, HASH),
    run: (tx) => tx.addSet(T, { ...HASH, key: ["inet_service"] }),
    fails: ["0 EEXIST"],
  },
  {
    name: "add-set with another flag fails",
    before: (tx) => tx.addSet(T, HASH),
    run: (tx) => tx.addSet(T, { ...HASH, interval: true }),
    fails: ["0 EEXIST"],
  },
  {
    name: "add-set over a map fails",
    before: (tx) => tx.addMap(T, MAP),
    run: (tx) => tx.addSet(T, { name: "map", key: ["ifname"], interval: false }),
    fails: ["0 EEXIST"],
  },
  {
    name: "add-set exclusive fails when it is there",
    before: (tx) => tx.addSet(T, HASH),
    run: (tx) => tx.push({ kind: "add-set", table: T, set: HASH, exclusive: true }),
    fails: ["0 EEXIST"],
  },
  { name: "delete-set of a missing set fails", run: (tx) => tx.deleteSet(T, "none"), fails: ["0 ENOENT"] },
  {
    name: "delete-set with elements works",
    before: (tx) => tx.addSet(T, HASH).addElements(T, HASH, ["10.0.0.1"]),
    run: (tx) => tx.deleteSet(T, "hash"),
  },
  {
    name: "delete-set that a rule looks into fails",
    before: (tx) => tx.addSet(T, HASH).addChain(T, "a").addRule(T, "a", inSet("hash")),
    run: (tx) => tx.deleteSet(T, "hash"),
    fails: ["0 EBUSY"],
  },
  {
    name: "delete-set works when the rule went first",
    before: (tx) => tx.addSet(T, HASH).addChain(T, "a").addRule(T, "a", inSet("hash")),
    run: (tx) => tx.flushChain(T, "a").deleteSet(T, "hash"),
  },
  {
    name: "a set is remade with another key in one transaction",
    before: (tx) => tx.addSet(T, HASH).addElements(T, HASH, ["10.0.0.1"]),
    run: (tx) =>
      tx
        .deleteSet(T, "hash")
        .addSet(T, { ...HASH, interval: true })
        .addElements(T, { ...HASH, interval: true }, ["10.0.0.0/8"]),
  },
  {
    name: "add-elements to a missing set fails",
    run: (tx) => tx.addElements(T, HASH, ["10.0.0.1"]),
    fails: ["0 ENOENT"],
  },
  {
    name: "add-elements again works",
    before: (tx) => tx.addSet(T, HASH).addElements(T, HASH, ["10.0.0.1"]),
    run: (tx) => tx.addElements(T, HASH, ["10.0.0.1", "10.0.0.2"]),
  },
  {
    name: "add-elements exclusive fails when one is there",
    before: (tx) => tx.addSet(T, HASH).addElements(T, HASH, ["10.0.0.1"]),
    run: (tx) => tx.push({ kind: "add-elements", table: T, set: HASH, elements: ["10.0.0.1"], exclusive: true }),
    fails: ["0 EEXIST"],
  },
  {
    name: "add-elements fills a set to its size",
    before: (tx) => tx.addSet(T, SIZED),
    run: (tx) => tx.addElements(T, SIZED, ["10.0.0.1", "10.0.0.2"]),
  },
  {
    name: "add-elements over the size fails",
    before: (tx) => tx.addSet(T, SIZED),
    run: (tx) => tx.addElements(T, SIZED, ["10.0.0.1", "10.0.0.2", "10.0.0.3"]),
    fails: ["0 ENFILE"],
  },
  {
    name: "delete-elements of a missing one fails",
    before: (tx) => tx.addSet(T, HASH),
    run: (tx) => tx.deleteElements(T, HASH, ["10.0.0.1"]),
    fails: ["0 ENOENT"],
  },
  {
    name: "flush-set empties it",
    before: (tx) => tx.addSet(T, HASH).addElements(T, HASH, ["10.0.0.1"]),
    run: (tx) => tx.flushSet(T, "hash"),
  },
  {
    name: "intervals side by side work",
    before: (tx) => tx.addSet(T, NETS),
    run: (tx) => tx.addElements(T, NETS, ["10.0.0.0/25", "10.0.0.128/25", "10.0.1.0", "0.0.0.0/8", "255.255.255.255"]),
  },
  {
    name: "the whole range works",
    before: (tx) => tx.addSet(T, NETS),
    run: (tx) => tx.addElements(T, NETS, ["0.0.0.0/0"]),
  },
  {
    name: "the same interval again works",
    idle: true,
    before: (tx) => tx.addSet(T, NETS).addElements(T, NETS, ["10.0.0.0/24"]),
    run: (tx) => tx.addElements(T, NETS, ["10.0.0.0/24"]),
  },
  {
    name: "an interval inside another fails",
    before: (tx) => tx.addSet(T, NETS).addElements(T, NETS, ["10.0.0.0/8"]),
    run: (tx) => tx.addElements(T, NETS, ["10.1.0.0/16"]),
    fails: ["0 EEXIST"],
  },
  {
    name: "an interval around another fails",
    before: (tx) => tx.addSet(T, NETS).addElements(T, NETS, ["10.1.0.0/16"]),
    run: (tx) => tx.addElements(T, NETS, ["10.0.0.0/8"]),
    fails: ["0 EEXIST"],
  },
  {
    name: "an interval with another's start fails",
    before: (tx) => tx.addSet(T, NETS).addElements(T, NETS, ["10.0.0.0/16"]),
    run: (tx) => tx.addElements(T, NETS, ["10.0.0.0/8"]),
    fails: ["0 EEXIST"],
  },
  {
    name: "overlapping intervals of one transaction fail",
    before: (tx) => tx.addSet(T, NETS),
    run: (tx) => tx.addElements(T, NETS, ["10.0.0.0/8", "10.1.0.0/16"]),
    fails: ["0 EEXIST"],
  },
  {
    name: "an overlapping interval works when the other went first",
    before: (tx) => tx.addSet(T, NETS).addElements(T, NETS, ["10.0.0.0/8", "11.0.0.0/8"]),
    run: (tx) => tx.deleteElements(T, NETS, ["10.0.0.0/8"]).addElements(T, NETS, ["10.1.0.0/16", "10.2.0.0/16"]),
  },
  {
    name: "deleting an interval that is not there fails",
    before: (tx) => tx.addSet(T, NETS).addElements(T, NETS, ["10.0.0.0/8"]),
    run: (tx) => tx.deleteElements(T, NETS, ["11.0.0.0/8"]),
    fails: ["0 ENOENT"],
  },
  {
    name: "a range that is no CIDR works, and can be deleted",
    before: (tx) => tx.addSet(T, NETS).addElements(T, NETS, ["10.0.0.1-10.0.0.5"]),
    run: (tx) => tx.deleteElements(T, NETS, ["10.0.0.1-10.0.0.5"]),
  },
  {
    name: "concatenations keep protocols apart",
    before: (tx) => tx.addSet(T, PORTS),
    run: (tx) => tx.addElements(T, PORTS, ["10.0.0.1 . tcp . 80", "10.0.0.1 . udp . 80", "10.0.0.1 . 200 . 80"]),
  },
  {
    name: "a rule adds to a dynamic set of the same transaction, which can be added again",
    run: (tx) => tx.addSet(T, DYNAMIC).addSet(T, DYNAMIC).addChain(T, "a").addRule(T, "a", addTo("dynamic")),
  },
  {
    name: "add-set that is dynamic where it is not fails",
    before: (tx) => tx.addSet(T, { ...DYNAMIC, dynamic: false }),
    run: (tx) => tx.addSet(T, DYNAMIC),
    fails: ["0 EEXIST"],
  },
  {
    name: "add-rule that adds to a set that is not dynamic fails",
    before: (tx) => tx.addSet(T, { ...DYNAMIC, dynamic: false }).addChain(T, "a"),
    run: (tx) => tx.addRule(T, "a", addTo("dynamic")),
    fails: ["0 EOPNOTSUPP"],
  },
  {
    name: "delete-set that a rule adds to fails",
    before: (tx) => tx.addSet(T, DYNAMIC).addChain(T, "a").addRule(T, "a", addTo("dynamic")),
    run: (tx) => tx.deleteSet(T, "dynamic"),
    fails: ["0 EBUSY"],
  },
  { name: "add-map again works", before: (tx) => tx.addMap(T, MAP), run: (tx) => tx.addMap(T, MAP) },
  {
    name: "add-map-elements that lead nowhere fail",
    before: (tx) => tx.addMap(T, MAP),
    run: (tx) => tx.addMapElements(T, MAP, [["x", { kind: "goto", chain: "none" }]]),
    fails: ["0 ENOENT"],
  },
  {
    name: "add-map-elements that lead to a base chain fail",
    before: (tx) => tx.addMap(T, MAP).addChain(T, "in", INPUT),
    run: (tx) => tx.addMapElements(T, MAP, [["x", { kind: "goto", chain: "in" }]]),
    fails: ["0 EOPNOTSUPP"],
  },
  {
    name: "add-map-elements again works",
    before: (tx) => tx.addMap(T, MAP).addMapElements(T, MAP, [["x", { kind: "drop" }]]),
    run: (tx) =>
      tx.addMapElements(T, MAP, [
        ["x", { kind: "drop" }],
        ["y", { kind: "accept" }],
      ]),
  },
  {
    name: "add-map-elements with another verdict fail",
    before: (tx) => tx.addMap(T, MAP).addMapElements(T, MAP, [["x", { kind: "drop" }]]),
    run: (tx) => tx.addMapElements(T, MAP, [["x", { kind: "accept" }]]),
    fails: ["0 EEXIST"],
  },
  {
    name: "add-map-elements with another chain fail",
    before: (tx) =>
      tx
        .addMap(T, MAP)
        .addChain(T, "a")
        .addChain(T, "b")
        .addMapElements(T, MAP, [["x", { kind: "goto", chain: "a" }]]),
    run: (tx) => tx.addMapElements(T, MAP, [["x", { kind: "goto", chain: "b" }]]),
    fails: ["0 EEXIST"],
  },
  {
    name: "a verdict is changed by a delete and an add in one transaction",
    before: (tx) => tx.addMap(T, MAP).addMapElements(T, MAP, [["x", { kind: "drop" }]]),
    run: (tx) => tx.deleteMapElements(T, MAP, ["x"]).addMapElements(T, MAP, [["x", { kind: "accept" }]]),
  },
  {
    name: "delete-map-elements of a missing key fails",
    before: (tx) => tx.addMap(T, MAP),
    run: (tx) => tx.deleteMapElements(T, MAP, ["x"]),
    fails: ["0 ENOENT"],
  },
  {
    name: "delete-map that a rule looks into fails",
    before: (tx) => tx.addMap(T, MAP).addChain(T, "a").addRule(T, "a", VMAP),
    run: (tx) => tx.deleteMap(T, "map"),
    fails: ["0 EBUSY"],
  },
  {
    name: "delete-map lets go of its chains",
    before: (tx) =>
      tx
        .addMap(T, MAP)
        .addChain(T, "a")
        .addMapElements(T, MAP, [["x", { kind: "goto", chain: "a" }]]),
    run: (tx) => tx.deleteMap(T, "map").deleteChain(T, "a"),
  },

  {
    name: "add-elements of what is there works",
    before: (tx) => tx.addSet(T, HASH).addElements(T, HASH, ["10.0.0.1"]),
    run: (tx) => tx.addElements(T, HASH, ["10.0.0.1"]),
    idle: true,
  },
  {
    name: "add-map-elements of what is there works",
    before: (tx) => tx.addMap(T, MAP).addMapElements(T, MAP, [["x", { kind: "drop" }]]),
    run: (tx) => tx.addMapElements(T, MAP, [["x", { kind: "drop" }]]),
    idle: true,
  },
  {
    name: "flush-set of an empty set works",
    before: (tx) => tx.addSet(T, HASH),
    run: (tx) => tx.flushSet(T, "hash"),
    idle: true,
  },
];
