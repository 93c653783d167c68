import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Statement } from "@bulrush/nftables";
import type { ToDataplane } from "@bulrush/proto";
import { FakeHost } from "../testing/fake-host.ts";
import { IN_SYNC, policy, policyId, profile, rule, workload } from "../testing/messages.ts";
import { POD, POLICY, PROFILE, refusal, SET, WORLD } from "../testing/small-world.ts";

const LIMITED = workload("b", {
  qos_controls: { ingressMaxConnections: 5, egressPacketRate: 10, ingressBandwidth: 1000 },
});
const LOGGING: readonly ToDataplane[] = [
  policy(policyId("np/default/p"), [rule("log"), rule("allow", { src_ip_set_ids: ["s:web"] })]),
  profile("kns.default", [rule("log"), rule("allow")], [rule("allow")]),
];

async function run(missing: readonly Statement["kind"][], ...messages: readonly ToDataplane[]): Promise<FakeHost> {
  const host = new FakeHost({ missingStatements: new Set(missing) });
  host.routes.setLink(5, "calia");
  host.routes.setLink(6, "calib");
  const dataplane = host.start();
  await host.send(dataplane, ...messages);
  await host.advance(2000);
  await dataplane.stop();
  return host;
}

describe("KernelSupport", () => {
  const rows: readonly (readonly [
    missing: Statement["kind"],
    told: RegExp,
    asked: readonly ToDataplane[],
    instead: readonly ToDataplane[],
  ])[] = [
    [
      "connlimit",
      /^warn Bounds of connections do not hold/,
      [LIMITED],
      [workload("b", { qos_controls: { egressPacketRate: 10, ingressBandwidth: 1000 } })],
    ],
    [
      "limit",
      /^warn Packet rates do not hold/,
      [LIMITED],
      [workload("b", { qos_controls: { ingressMaxConnections: 5, ingressBandwidth: 1000 } })],
    ],
    [
      "log",
      /^warn Rules that log do nothing/,
      LOGGING,
      [
        policy(policyId("np/default/p"), [
          rule("log", { ip_version: 4, src_net: ["::/128"] }),
          rule("allow", { src_ip_set_ids: ["s:web"] }),
        ]),
        profile("kns.default", [rule("log", { ip_version: 4, src_net: ["::/128"] }), rule("allow")], [rule("allow")]),
      ],
    ],
  ];
  for (const [missing, told, asked, instead] of rows) {
    it(`has all else programmed by a kernel without ${missing}, and says so once`, async () => {
      const host = await run([missing], SET, POLICY, PROFILE, ...asked, POD, IN_SYNC, ...asked);
      assert.deepEqual(host.fatal, []);
      assert.ok(host.messages.some(({ msg }) => msg === "DataplaneInSync"));
      assert.equal(host.missing([SET, POLICY, PROFILE, ...instead, POD, IN_SYNC]), "");
      assert.equal(host.logs.filter((line) => told.test(line)).length, 1);
    });

    it(`leaves what a kernel with ${missing} is asked for as it is`, async () => {
      const host = await run([], SET, POLICY, PROFILE, ...asked, POD, IN_SYNC);
      assert.equal(host.missing([SET, POLICY, PROFILE, ...asked, POD, IN_SYNC]), "");
      assert.deepEqual(
        host.logs.filter((line) => told.test(line)),
        [],
      );
    });
  }

  it("asks nothing of the kernel while nobody asks for any of it", async () => {
    const host = new FakeHost();
    const dataplane = host.start();
    host.nft.failRuns(refusal());
    await host.send(dataplane, ...WORLD.slice(0, -1));
    assert.deepEqual(host.logs, []);
    await dataplane.stop();
  });
});
