import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { FakeNft, NFT_ERROR_CODES, NftError, type RuleState, type TableReadback } from "@bulrush/nftables";
import { FakeHost } from "../testing/fake-host.ts";
import { IN_SYNC } from "../testing/messages.ts";
import { planRemoval } from "./plan-removal.ts";

const FILTER = { family: "ip", name: "filter" } as const;
const jump = (chain: string, comment?: string): RuleState => ({
  statements: [{ kind: "verdict", verdict: { kind: "jump", chain } }],
  ...(comment === undefined ? {} : { comment }),
});
const accept = (comment?: string): RuleState => ({
  statements: [{ kind: "verdict", verdict: { kind: "accept" } }],
  ...(comment === undefined ? {} : { comment }),
});
const refusal = (): NftError =>
  new NftError("Transaction refused", { code: NFT_ERROR_CODES.refused, op: "Run transaction" });

/** A table as iptables-nft and an earlier Felix left it, beside rules of Docker and Kubernetes. */
function spoil(host: FakeHost): void {
  host.nft.edit((transaction) =>
    transaction
      .addTable(FILTER)
      .addChain(FILTER, "FORWARD", { type: "filter", hook: "forward", priority: 0, policy: "accept" })
      .addChain(FILTER, "cali-FORWARD")
      .addChain(FILTER, "cali-from-wl")
      .addChain(FILTER, "felix-old")
      .addChain(FILTER, "DOCKER")
      .addRule(FILTER, "cali-FORWARD", jump("cali-from-wl"))
      .addRule(FILTER, "FORWARD", jump("cali-FORWARD", "cali:wUHhoiAYhphO9Mso"))
      .addRule(FILTER, "FORWARD", jump("DOCKER"))
      .addRule(FILTER, "FORWARD", jump("felix-old"))
      .addRule(FILTER, "FORWARD", accept("cali:S93hcgKJrXEqnTfs"))
      .addRule(FILTER, "FORWARD", accept("kubernetes forwarding rules"))
      .addRule(FILTER, "DOCKER", accept("cali is only a word here")),
  );
}

/** "CHAIN: key, key" of what is left. */
function left(host: FakeHost): string[] {
  const table = host.nft.readTable("ip", "filter");
  return [...(table?.chains.values() ?? [])].map(
    ({ name, rules }) => `${name}: ${rules.map(({ key }) => key).join(", ")}`,
  );
}
const FOREIGN = ["FORWARD: immediate 0 jump DOCKER, immediate 0 accept", "DOCKER: immediate 0 accept"];

describe("what an earlier Felix has left in the tables of iptables", () => {
  let host: FakeHost;

  beforeEach(() => {
    host = new FakeHost();
    spoil(host);
  });

  it("N9: goes when our own rules are in force, and what others have there stays as it is", async () => {
    await host.send(host.start(), IN_SYNC);
    assert.deepEqual(left(host), FOREIGN);
    const kinds = host.nft.transactions.map(({ operations }) => operations.map(({ table }) => table.name));
    assert.ok(kinds[0]?.every((name) => name.startsWith("calico")));
    assert.ok(kinds.at(-1)?.every((name) => name === "filter"));
  });

  it("is looked for once, and nothing is written where there is none", async () => {
    const clean = new FakeHost();
    clean.nft.edit((transaction) =>
      transaction.addTable(FILTER).addChain(FILTER, "DOCKER").addRule(FILTER, "DOCKER", accept()),
    );
    const rules = clean.nft.rules.bind(clean.nft);
    let listed = 0;
    clean.nft.rules = (...table) => {
      listed++;
      return rules(...table);
    };
    const dataplane = clean.start();
    await clean.send(dataplane, IN_SYNC);
    await clean.send(dataplane, IN_SYNC);
    assert.equal(listed, 8);
    assert.ok(
      clean.nft.transactions.flatMap(({ operations }) => operations).every(({ table }) => table.name !== "filter"),
    );
  });

  it("keeps a chain that a rule of somebody else's chain leads to, empty", async () => {
    host.nft.edit((transaction) => transaction.addRule(FILTER, "DOCKER", jump("cali-from-wl")));
    await host.send(host.start(), IN_SYNC);
    assert.deepEqual(left(host), [
      FOREIGN[0],
      "cali-from-wl: ",
      "DOCKER: immediate 0 accept, immediate 0 jump cali-from-wl",
    ]);
  });

  it("is tried again a few times when it cannot be removed, and never ends the agent", async () => {
    const dataplane = host.start();
    const run = host.nft.run.bind(host.nft);
    let refused = 0;
    host.nft.run = (transaction, options) => {
      if (transaction.operations[0]?.table.name === "filter" && refused < 2) {
        refused++;
        throw refusal();
      }
      run(transaction, options);
    };
    await host.send(dataplane, IN_SYNC);
    assert.notDeepEqual(left(host), FOREIGN);
    await host.advance(25_000);
    assert.deepEqual([refused, left(host)], [2, FOREIGN]);
    assert.deepEqual(host.fatal, []);
    assert.ok(host.logs.some((line) => line.startsWith("info Removed rules of an earlier Felix")));
  });

  it("is left alone after six tries", async () => {
    const run = host.nft.run.bind(host.nft);
    let refused = 0;
    host.nft.run = (transaction, options) => {
      if (transaction.operations[0]?.table.name === "filter") {
        refused++;
        throw refusal();
      }
      run(transaction, options);
    };
    await host.send(host.start(), IN_SYNC);
    await host.advance(120_000);
    assert.deepEqual([refused, host.fatal], [6, []]);
  });
});

it("planRemoval() knows the mark in the comment match of iptables", () => {
  const match = (name: string, text: string): string =>
    `unknown match 0x${Buffer.from(`\u000c\u0000\u0001\u0000${name}\0${text}\0`).toString("hex")}`;
  const keys = [
    `${match("comment", "cali:S93hcgKJrXEqnTfs")}; immediate 0 accept`,
    `${match("comment", "mine")}; immediate 0 accept`,
    `${match("comment", "not of cali:S93hcgKJrXEqnTfs")}; immediate 0 accept`,
    `${match("mark", "cali:")}; immediate 0 accept`,
  ];
  const base = { type: "filter", hook: "input", priority: 0, policy: "accept" } as const;
  const table: TableReadback = {
    kind: "readback",
    ...FILTER,
    generation: 1,
    asleep: false,
    chains: new Map([["INPUT", { name: "INPUT", base, rules: keys.map((key, handle) => ({ key, handle })) }]]),
    sets: new Map(),
    maps: new Map(),
    flowtables: new Map(),
  };
  assert.deepEqual(planRemoval(table).operations, [{ kind: "delete-rule", table: FILTER, chain: "INPUT", handle: 0 }]);
});

for (const name of ["cali-FORWARD", "califw-eth0", "felix-old"])
  it(`planRemoval() takes the chain ${name} out with the rules that lead to it, and what it led to`, () => {
    const nft = new FakeNft();
    nft.edit((transaction) =>
      transaction
        .addTable(FILTER)
        .addChain(FILTER, "FORWARD", { type: "filter", hook: "forward", priority: 0, policy: "accept" })
        .addChain(FILTER, name)
        .addChain(FILTER, "cali-further")
        .addRule(FILTER, name, jump("cali-further"))
        .addRule(FILTER, "FORWARD", accept())
        .addRule(FILTER, "FORWARD", jump(name)),
    );
    nft.run(planRemoval(nft.readTable("ip", "filter") ?? assert.fail()));
    const chains = nft.readTable("ip", "filter")?.chains;
    assert.deepEqual([...(chains?.keys() ?? [])], ["FORWARD"]);
    assert.equal(chains?.get("FORWARD")?.rules.length, 1);
  });
