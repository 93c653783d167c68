import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli, TESTDATA } from "../testing/run-cli.ts";

type Message = Readonly<Record<string, unknown>> & { readonly msg: string };

const SHOP = `${TESTDATA}/shop`;
const parse = (out: string): Message[] =>
  out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Message);

test("calc prints the host's messages, what is referred to before what refers to it", async () => {
  const { code, out, err } = await runCli(["calc", "-f", SHOP, "--hostname", "node-2"]);
  assert.deepEqual([code, err], [0, ""]);
  const messages = parse(out);
  const at = (msg: string): number => messages.findIndex((message) => message.msg === msg);
  assert.ok(at("IPSetUpdate") >= 0 && at("IPSetUpdate") < at("ActivePolicyUpdate"));
  assert.ok(at("ActivePolicyUpdate") < at("WorkloadEndpointUpdate"));
  const workloads = messages
    .filter(({ msg }) => msg === "WorkloadEndpointUpdate")
    .map(({ id }) => (id as { workload: string }).workload);
  assert.deepEqual(workloads, ["shop/db"]);
  assert.deepEqual(messages.find(({ msg }) => msg === "IPSetUpdate")?.["members"], ["10.0.1.1/32"]);
});

test("calc --stream of what convert prints gives the same messages", async () => {
  const { out: kvs } = await runCli(["convert", "-f", SHOP]);
  const direct = await runCli(["calc", "-f", SHOP, "--hostname", "node-2"]);
  assert.deepEqual(await runCli(["calc", "--stream", "--hostname", "node-2"], kvs), direct);
  const reversed = kvs.trimEnd().split("\n").toReversed().join("\n");
  const { out } = await runCli(["calc", "--stream", "--hostname", "node-2"], reversed);
  assert.deepEqual(out.split("\n").toSorted(), direct.out.split("\n").toSorted());
});

test("calc --stream after in-sync prints what each line changes", async () => {
  const { out: kvs } = await runCli(["convert", "-f", SHOP]);
  const web = kvs.split("\n").find((line) => line.includes("shop%2fweb")) ?? "";
  const { key, value } = JSON.parse(web) as { key: string; value: { ipv4_nets: string[] } };
  const changes = [
    { key, value: { ...value, ipv4_nets: ["10.0.1.9/32"] } },
    { key: "/calico/v1/netset/unused", value: { nets: ["1.2.3.4/32"], labels: {} } },
    { key, value: null },
  ];
  const { code, out } = await runCli(
    ["calc", "-f", SHOP, "--stream", "--hostname", "node-2"],
    changes.map((change) => JSON.stringify(change)).join("\n"),
  );
  assert.equal(code, 0);
  const messages = parse(out);
  const live = messages.slice(messages.findIndex(({ msg }) => msg === "InSync") + 1);
  assert.deepEqual(
    live.map(({ msg, added_members, removed_members }) => [msg, added_members, removed_members]),
    [
      ["IPSetDeltaUpdate", ["10.0.1.9/32"], ["10.0.1.1/32"]],
      ["IPSetDeltaUpdate", [], ["10.0.1.9/32"]],
    ],
  );
});

test("calc --stream takes batches and a status, and names what it cannot read", async () => {
  const lines = [
    '[{"key":"/calico/v1/Ready","value":true},{"key":"/calico/v1/future/thing","value":1}]',
    "not json",
    '{"key":"/calico/v1/policy/GlobalNetworkPolicy//p","value":{"tier":"default","selector":"a ==","inbound_rules":[],"outbound_rules":[]}}',
    '{"status":"in-sync"}',
  ];
  const { code, out, err } = await runCli(["calc", "--stream", "--hostname", "h"], lines.join("\n"));
  assert.equal(code, 1);
  assert.ok(parse(out).some(({ msg }) => msg === "InSync"));
  assert.match(
    err,
    /^line 1 of standard input: "\/calico\/v1\/future\/thing" is no key that the graph knows; skipped$/m,
  );
  assert.match(err, /^line 2 of standard input: not JSON/m);
  assert.match(err, /^line 3 of standard input: \/calico\/v1\/policy\/GlobalNetworkPolicy\/\/p: selector: /m);
});

test("a streamed policy without types means both directions", async () => {
  const { out: kvs } = await runCli(["convert", "-f", SHOP]);
  const policy = {
    key: "/calico/v1/policy/GlobalNetworkPolicy//p",
    value: {
      tier: "default",
      order: 1,
      selector: "app == 'db'",
      inbound_rules: [{ action: "deny" }],
      outbound_rules: [{ action: "deny" }],
    },
  };
  const { out } = await runCli(["calc", "--stream", "--hostname", "node-2"], `${kvs}${JSON.stringify(policy)}\n`);
  const workload = parse(out).find(({ msg }) => msg === "WorkloadEndpointUpdate") as unknown as {
    endpoint: { tiers: { ingress_policies: { name: string }[]; egress_policies: { name: string }[] }[] };
  };
  const [tier] = workload.endpoint.tiers;
  assert.equal(tier?.ingress_policies[0]?.name, "p");
  assert.equal(tier?.egress_policies[0]?.name, "p");
});

test("calc wants one use of standard input", async () => {
  const { code, err } = await runCli(["calc", "-f", "-", "--stream", "--hostname", "h"]);
  assert.equal(code, 2);
  assert.match(err, /both want standard input/);
});
