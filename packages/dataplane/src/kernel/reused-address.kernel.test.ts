import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { openConntrack } from "@bulrush/netlink";
import { kernelTests } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { type DatagramSocket, KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC, policy, policyId, profile, rule, tier, workload, workloadRemove } from "../testing/messages.ts";

const ADDRESS = "10.65.0.2";
const ADDRESS6 = "fd65::2";
const EXT = "192.168.7.2";
const EXT6 = "fd07::2";
const P = policyId("np/default/p");

/**
 * A pod has flows with a machine outside, is removed, and another pod gets its address under a stricter policy: nothing
 * of the old flows may reach it, although conntrack knows them as established.
 */
kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;

  const pod = (name: string, fields: Parameters<typeof workload>[1] = {}): ToDataplane =>
    workload(name, {
      ipv4_nets: [`${ADDRESS}/32`],
      ipv6_nets: [`${ADDRESS6}/128`],
      mac: lab.macOf(name),
      profile_ids: ["open"],
      ...fields,
    });
  /** Addresses that conntrack has flows of. */
  const tracked = (): string[] => {
    const conntrack = openConntrack();
    const flows = conntrack.flows().map(({ original }) => `${original.source}>${original.destination}`);
    conntrack.close();
    return flows.filter((flow) => flow.includes(ADDRESS) || flow.includes(ADDRESS6)).sort();
  };

  /** The host's route of one address; "" for none, where `ip route get` would fail. */
  const routeTo = (address: string): string =>
    lab.run(`ip ${address.includes(":") ? "-6" : "-4"} route show ${address}`);

  /** Packets of a family ahead of our rules at the forward hook and behind them. */
  const counts = (family: "ip" | "ip6"): { ahead: bigint; behind: bigint } => {
    const chains = dataplane.kernel.nft.readTable(family, "probe")?.chains;
    const packets = (chain: string): bigint => chains?.get(chain)?.rules[0]?.counter?.packets ?? 0n;
    return { ahead: packets("ahead"), behind: packets("behind") };
  };
  const count = (): void => {
    for (const family of ["ip", "ip6"])
      lab.nft(`add table ${family} probe; delete table ${family} probe;
        table ${family} probe {
          chain ahead { type filter hook forward priority -10; meta l4proto { tcp, udp } counter; }
          chain behind { type filter hook forward priority 10; meta l4proto { tcp, udp } counter; }
        }`);
  };

  /** Sends until a datagram has come: the first ones may be lost while neighbours are looked for. */
  const arrives = async (
    from: DatagramSocket | undefined,
    address: string,
    port: number,
    to: DatagramSocket | undefined,
  ): Promise<void> => {
    for (let tries = 0; tries < 10; tries++) {
      const word = to?.receive();
      from?.send(address, port, "x");
      if ((await word) !== "") return;
    }
    assert.fail(`nothing comes to ${address}`);
  };

  before(async () => {
    lab = new KernelLab();
    lab.addIpv6("fd07::1", EXT6, "fd65::/64");
    lab.addPod("a", ADDRESS, ADDRESS6);
    dataplane = startKernelDataplane();
    await lab.serve("a", 80);
    await dataplane.send(profile("open", [rule("allow")], [rule("allow")]), policy(P, [], []), pod("a"), IN_SYNC);
  });
  after(async () => {
    await dataplane.stop();
    lab.close();
  });

  it("R14, R15: the next pod of an address inherits no flow of the one before, TCP and UDP, IPv4 and IPv6", async () => {
    const outside = [await lab.openDatagrams("ext", EXT, 5000), await lab.openDatagrams("ext", EXT6, 5000)];
    const inside = [await lab.openDatagrams("a", ADDRESS, 4000), await lab.openDatagrams("a", ADDRESS6, 4000)];
    const addresses = [
      [ADDRESS, EXT],
      [ADDRESS6, EXT6],
    ] as const;
    const tcp = await lab.openConnection("ext", ADDRESS, 80);
    assert.equal(await tcp("one"), "one");
    for (const [i, [own, other]] of addresses.entries()) {
      await arrives(inside[i], other, 5000, outside[i]);
      await arrives(outside[i], own, 4000, inside[i]);
    }
    assert.deepEqual(tracked(), [`${ADDRESS}>${EXT}`, `${EXT}>${ADDRESS}`, `${ADDRESS6}>${EXT6}`].sort());

    // The next pod comes with the route that a CNI plugin sets ahead of the endpoint, and is closed both ways.
    lab.removePod("a");
    lab.addPod("b", ADDRESS, ADDRESS6);
    await dataplane.send(workloadRemove("a"), pod("b", { tiers: [tier("default", [P], [P])] }));
    await until("the routes lead to the next pod", () =>
      [ADDRESS, ADDRESS6].every((address) => routeTo(address).includes("dev calib")),
    );
    assert.deepEqual(tracked(), []);

    // The very packets of the old flows, from both sides.
    count();
    assert.equal(await tcp("three"), "");
    const successors = [await lab.openDatagrams("b", ADDRESS, 4000), await lab.openDatagrams("b", ADDRESS6, 4000)];
    for (const [i, [own, other]] of addresses.entries()) {
      const family = own.includes(":") ? "ip6" : "ip";
      const least = counts(family).ahead + 4n;
      await until(`packets of both sides have come by, ${family}`, () => {
        successors[i]?.send(other, 5000, "x");
        outside[i]?.send(own, 4000, "x");
        return counts(family).ahead >= least;
      });
      assert.equal(counts(family).behind, 0n, family);
    }
    assert.deepEqual(tracked(), []);
  });
});
