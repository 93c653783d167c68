import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import { hasCode } from "@bulrush/base";
import { NftError } from "../errors.ts";
import type { SetShape, TableRef } from "../operation.ts";
import { planTable } from "../plan/plan-table.ts";
import type { ChainState, TableState } from "../state.ts";
import { Transaction } from "../transaction.ts";
import { openNftConnection } from "./open-nft-connection.ts";

const T: TableRef = { family: "ip", name: "t" };
const SET: SetShape = { name: "s", key: ["ipv4_addr"], interval: false };
const NETS: SetShape = { name: "n", key: ["ipv4_addr"], interval: true };

function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
}

function nftProgram(input: string): void {
  execFileSync("nft", ["-f", "-"], { input });
}

kernelTests(import.meta.filename, () => {
  test("run() of more than the send buffer fails with sizes, and the connection goes on", () => {
    const nft = openNftConnection({ sendBufferBytes: 1 });
    nft.run(new Transaction().addTable(T).addSet(T, SET));
    const generation = nft.generation();
    assert.throws(
      () => nft.run(new Transaction().addElements(T, SET, addresses(400_000))),
      (error) =>
        error instanceof NftError &&
        error.code === "NFT_TOO_LARGE" &&
        Number(error.data["bytes"]) > Number(error.data["limit"]) &&
        Number(error.data["limit"]) > 0,
    );
    assert.equal(nft.generation(), generation);
    nft.run(new Transaction().addElements(T, SET, ["10.0.0.1"]).deleteTable(T));
    nft.close();
  });

  test("run() cuts long element lists into messages of one transaction", () => {
    const nft = openNftConnection();
    const elements = addresses(20_000);
    const nets = elements.filter((_, i) => i % 2 === 0).map((address) => `${address}/32`);
    nft.run(
      new Transaction()
        .addTable(T)
        .addSet(T, SET)
        .addSet(T, NETS)
        .addElements(T, SET, elements)
        .addElements(T, NETS, nets),
    );
    const table = nft.readTable("ip", "t");
    assert.deepEqual(table?.sets.get("s")?.elements, new Set(elements));
    assert.equal(table?.sets.get("n")?.elements.size, 10_000);
    nft.run(new Transaction().deleteElements(T, SET, elements).deleteElements(T, NETS, nets));
    assert.equal(nft.readTable("ip", "t")?.sets.get("s")?.elements.size, 0);
    assert.equal(nft.readTable("ip", "t")?.sets.get("n")?.elements.size, 0);
    nft.run(new Transaction().deleteTable(T));
    nft.close();
  });

  test("run() with thousands of failing operations is refused, not lost", () => {
    const nft = openNftConnection();
    const generation = nft.generation();
    const transaction = new Transaction().addTable(T);
    for (let i = 0; i < 20_000; i++) transaction.deleteSet(T, `none${i}`);
    assert.throws(
      () => nft.run(transaction),
      (error) => error instanceof NftError && error.code === "NFT_REFUSED" && error.failures.length > 0,
    );
    assert.equal(nft.generation(), generation);
    assert.equal(nft.readTable("ip", "t"), undefined);
    nft.close();
  });

  test("readTable() reads what other programs left in the table, and says what it does not know", () => {
    nftProgram(
      `
      table ip t {
        set timed { type ipv4_addr; flags timeout; elements = { 10.0.0.1 timeout 1h } }
        set macs { type ether_addr; elements = { 66:00:00:00:00:01 } }
        set ranges { type ipv4_addr . inet_service; flags interval; elements = { 10.0.0.0/8 . 80-90 } }
        set nets { type ipv4_addr; flags interval; elements = { 10.0.0.1-10.0.0.9, 192.0.2.0/24 } }
        map marks { type ipv4_addr : mark; elements = { 10.0.0.1 : 1 } }
        chain base {
          type filter hook input priority 7; policy drop;
          tcp option maxseg size 1400
          ip saddr vmap { 10.0.0.1 : accept, 10.0.0.2 : drop }
          ct mark set meta mark
          quota 10 mbytes
          log flags all
        }
      }`,
    );
    const nft = openNftConnection();
    const table = nft.readTable("ip", "t");
    for (const name of ["timed", "macs", "ranges"]) assert.equal(table?.sets.get(name)?.key, undefined, name);
    assert.deepEqual(table?.sets.get("nets")?.elements, new Set(["10.0.0.1-10.0.0.9", "192.0.2.0/24"]));
    assert.equal(table?.maps.get("marks")?.key, undefined);
    const chain = table?.chains.get("base");
    assert.deepEqual(chain?.base, { type: "filter", hook: "input", priority: 7, policy: "drop" });
    const keys = chain?.rules.map(({ key }) => key) ?? [];
    assert.equal(keys.length, 5);
    assert.match(keys[0] ?? "", /unknown exthdr/);
    assert.match(keys[1] ?? "", /anonymous map/);
    assert.match(keys[2] ?? "", /ct set 3/);
    assert.match(keys[3] ?? "", /unknown quota/);
    assert.match(keys[4] ?? "", /unknown log/, "a flag that we never write makes it foreign");
    nft.run(new Transaction().deleteTable(T));
    nft.close();
  });

  test("readTable() and rules() list the rules of a large table in order, whole", () => {
    const nft = openNftConnection();
    const transaction = new Transaction().addTable(T);
    // So many that the chains are listed one by one, and each takes several datagrams.
    const count = 7000;
    const names = ["a", "b", "c", "empty"];
    for (const name of names) transaction.addChain(T, name);
    for (const name of names.slice(0, 3))
      for (let i = 0; i < count; i++) transaction.addRule(T, name, { statements: [], comment: `${name} ${i}` });
    nft.run(transaction);
    const wanted = (name: string): string[] => Array.from({ length: count }, (_, i) => `${name} ${i}`);
    const table = nft.readTable("ip", "t");
    for (const name of names.slice(0, 3))
      assert.deepEqual(
        table?.chains.get(name)?.rules.map(({ comment }) => comment),
        wanted(name),
      );
    assert.deepEqual(table?.chains.get("empty")?.rules, []);
    assert.deepEqual(
      nft.rules("ip", "t").map(({ comment }) => comment),
      names.slice(0, 3).flatMap(wanted),
    );
    nft.run(new Transaction().deleteTable(T));
    nft.close();
  });

  test("readTable() reads addresses that have more to them than other addresses of their set", () => {
    nftProgram(`
      table ip t {
        set plain { type ipv4_addr; elements = { 10.0.0.1, 192.0.2.254, 0.0.0.0 } }
        set noted { type ipv4_addr; elements = { 10.0.0.1, 10.0.0.2 comment "with a comment" } }
      }`);
    const nft = openNftConnection();
    const table = nft.readTable("ip", "t");
    assert.deepEqual(table?.sets.get("plain")?.elements, new Set(["10.0.0.1", "192.0.2.254", "0.0.0.0"]));
    assert.deepEqual(table?.sets.get("noted")?.elements, new Set(["10.0.0.1", "10.0.0.2"]));
    nft.run(new Transaction().deleteTable(T));
    nft.close();
  });

  test("counters are read with their rules", async () => {
    nftProgram(
      "table ip t { chain out { type filter hook output priority 0; counter packets 5 bytes 400; accept; }; }",
    );
    const nft = openNftConnection();
    const rules = nft.readTable("ip", "t")?.chains.get("out")?.rules;
    assert.deepEqual(rules?.[0]?.counter, { packets: 5n, bytes: 400n });
    assert.equal(rules?.[1]?.counter, undefined);
    nft.run(new Transaction().deleteTable(T));
    nft.close();
  });

  test("a dynamic set holds what packets add to it, as long as its rule says, and no plan asks about that", () => {
    const seen = { name: "seen", key: ["ipv4_addr"], interval: false, size: 2, dynamic: true } as const;
    const out: ChainState = {
      name: "out",
      base: { type: "filter", hook: "output", priority: 0, policy: "accept" },
      rules: [
        {
          statements: [
            // Not what comes back for ports that nobody listens at.
            { kind: "match", left: { kind: "meta", key: "l4proto" }, op: "==", right: { kind: "value", value: "udp" } },
            {
              kind: "set-element",
              change: "add",
              set: "seen",
              key: { kind: "payload", field: "ip daddr" },
              timeoutSeconds: 3600,
            },
            { kind: "counter" },
          ],
        },
      ],
    };
    const table: TableState = {
      ...T,
      chains: new Map([["out", out]]),
      sets: new Map([["seen", { ...seen, elements: new Set() }]]),
      maps: new Map(),
    };
    const nft = openNftConnection();
    nft.run(planTable(table, undefined));
    execFileSync("ip", ["link", "set", "lo", "up"]);
    // A third one finds no room: the rule ends before its counter.
    for (const last of [1, 2, 1, 3]) execFileSync("bash", ["-c", `echo word > /dev/udp/127.0.0.${last}/9 || true`]);
    const listed = execFileSync("nft", ["list", "set", "ip", "t", "seen"], { encoding: "utf8" });
    assert.match(listed, /127\.0\.0\.1 timeout 1h/);
    assert.match(listed, /127\.0\.0\.2 timeout 1h/);
    assert.doesNotMatch(listed, /127\.0\.0\.3/);
    const read = nft.readTable("ip", "t");
    assert.equal(read?.chains.get("out")?.rules[0]?.counter?.packets, 3n);
    assert.deepEqual(read?.sets.get("seen"), { ...seen, elements: new Set() });
    assert.deepEqual(planTable(table, read).operations, []);
    const { dynamic: _other, ...plain } = seen;
    const changed = {
      ...table,
      chains: new Map(),
      sets: new Map([["seen", { ...plain, elements: new Set<string>() }]]),
    };
    nft.run(planTable(changed, read));
    assert.deepEqual(nft.readTable("ip", "t")?.sets.get("seen"), { ...plain, elements: new Set() });
    assert.throws(
      () => nft.run(new Transaction().addSet(T, { ...seen, name: "unbounded", interval: true })),
      (error) => hasCode(error, "NFT_INVALID"),
    );
    nft.run(new Transaction().deleteTable(T));
    nft.close();
  });

  test("run() says where in its message each refused operation is at fault", () => {
    const nft = openNftConnection();
    const transaction = new Transaction()
      .addTable(T)
      .addRule(T, "missing", { statements: [{ kind: "counter" }] })
      .deleteSet(T, "none");
    // struct nlmsghdr and nfgenmsg have 20 bytes; then come the table, whose name "t" takes 8, and what is missing.
    assert.throws(
      () => nft.run(transaction),
      (error) => {
        assert.ok(error instanceof NftError);
        const where = error.failures.map(({ errnoName, index, offset }) => [index, errnoName, offset]);
        assert.deepEqual(where, [
          [1, "ENOENT", 28],
          [2, "ENOENT", 28],
        ]);
        return true;
      },
    );
    assert.equal(nft.readTable("ip", "t"), undefined);
    nft.close();
  });

  test("a closed connection fails with a code", () => {
    const nft = openNftConnection();
    nft.close();
    assert.throws(
      () => nft.run(new Transaction().addTable(T)),
      (error) => hasCode(error, "NETLINK_CLOSED"),
    );
    assert.throws(
      () => nft.readTable("ip", "t"),
      (error) => hasCode(error, "NFT_READ_FAILED"),
    );
  });
});
