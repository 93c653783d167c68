import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, describe, it } from "node:test";
import { formatAddress } from "@bulrush/ip";
import { openRouteConnection } from "@bulrush/netlink";
import { labTests } from "../lab/lab-test.ts";
import type { LabSession } from "../lab/session.ts";
import { HOSTS, startVxlanWorld } from "./world.ts";

function run(command: string, input = ""): string {
  const [program = "", ...words] = command.split(" ");
  return execFileSync(program, words, { encoding: "utf8", input });
}

/** Asks every 50 ms, for half a minute. */
async function until(what: string, isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`It does not come about that ${what}`);
}

/** In a host's namespace. */
function onHost(session: LabSession, name: string, command: string): string {
  const host = session.cluster.network.host(name);
  assert.ok(host !== undefined);
  return run(`nsenter --net=${host.namespace.path} ${command}`);
}

/** From now on the fabric knows the hosts, but no pod: what is not in a tunnel is lost on it. */
function forgetPods(session: LabSession): void {
  const fabric = openRouteConnection();
  for (const { plan } of session.cluster.network.pods)
    for (const address of plan.addresses) {
      const destination = `${formatAddress(address)}/${address.family === 4 ? 32 : 128}`;
      fabric.apply([{ kind: "delete-route", route: { destination } }]);
    }
  fabric.close();
}

/** Packets that the fabric has carried between hosts: those of tunnels, and those of pods as they are. */
const COUNTERS = `
table ip probe { chain c { type filter hook forward priority 0;
  udp dport 4789 counter; ip saddr 10.65.0.0/16 ip daddr 10.65.0.0/16 counter; }; }
table ip6 probe { chain c { type filter hook forward priority 0;
  udp dport 4789 counter; ip6 saddr fd65::/16 ip6 daddr fd65::/16 counter; }; }`;

function counts(family: "ip" | "ip6"): { tunnel: number; plain: number } {
  const text = run(`nft list table ${family} probe`);
  const [tunnel = 0, plain = 0] = [...text.matchAll(/packets (\d+)/g)].map(([, number]) => Number(number));
  return { tunnel, plain };
}

/**
 * Every pod tries every other one, on each address and port. What is other than the policy says: clients reach everybody,
 * servers nobody.
 */
async function mistakes(session: LabSession): Promise<string[]> {
  const { network, prober } = session.cluster;
  const tries = network.pods.flatMap((from) =>
    network.pods
      .filter((to) => to !== from)
      .flatMap((to) =>
        to.plan.addresses.flatMap((address) => to.plan.ports.map((port) => ({ from, to, address, ...port }))),
      ),
  );
  const expected = tries.map(({ from }) => from.plan.name.includes("/client-"));
  const answers = await prober.run(
    tries.map(({ address, from, port, protocol }, i) => ({
      from: from.namespace,
      to: address,
      protocol,
      port,
      expect: expected[i] === true,
    })),
  );
  return tries.flatMap(({ address, from, port, protocol }, i) =>
    answers[i] === expected[i]
      ? []
      : [`${from.plan.name} to ${formatAddress(address)} ${protocol} ${port}: ${answers[i] === true ? "yes" : "no"}`],
  );
}

labTests(import.meta.filename, () => {
  describe("pods of two hosts with VXLAN between them", () => {
    let session: LabSession;

    before(async () => {
      session = await startVxlanWorld("/run/bulrush", { vxlanMode: "Always", subnetBits: { 4: 24, 6: 64 } });
      forgetPods(session);
      run("nft -f -", COUNTERS);
      for (const [i, { name }] of HOSTS.entries()) {
        const other = HOSTS[1 - i];
        assert.ok(other !== undefined);
        await until(`${name} has its routes`, () => {
          const [ipv4, ipv6] = [onHost(session, name, "ip route"), onHost(session, name, "ip -6 route")];
          return ipv4.includes(`${other.block} via`) && ipv6.includes(`${other.block6} via`);
        });
      }
    });
    after(() => session.stop());

    it("reach each other as the policy says, IPv4 and IPv6, TCP and UDP, and only by the tunnel", async () => {
      assert.deepEqual(await mistakes(session), []);
      for (const family of ["ip", "ip6"] as const) {
        const { plain, tunnel } = counts(family);
        assert.ok(tunnel > 0, `no packet in the tunnel of ${family}`);
        assert.equal(plain, 0, `packets of ${family} outside of the tunnel`);
      }
    });

    it("have devices, routes and blackholes as the blocks say", () => {
      const [{ name, ip, block, block6 }, other] = HOSTS;
      const routes = onHost(session, name, "ip route");
      assert.match(routes, new RegExp(`^${other.block} via ${other.tunnel} dev vxlan.calico proto 80 onlink`, "m"));
      assert.match(routes, new RegExp(`^blackhole ${block} proto 80`, "m"));
      const routes6 = onHost(session, name, "ip -6 route");
      assert.match(routes6, new RegExp(`^${other.block6} via ${other.tunnel6} dev vxlan-v6.calico proto 80`, "m"));
      assert.match(routes6, new RegExp(`^blackhole ${block6} dev lo proto 80`, "m"));
      assert.match(
        onHost(session, name, "ip -d link show vxlan.calico"),
        new RegExp(`vxlan id 4096 local ${ip} dev eth0`),
      );
      assert.match(onHost(session, name, "ip addr show vxlan.calico"), /mtu 1450/);
      assert.match(onHost(session, name, "ip addr show vxlan-v6.calico"), /mtu 1430/);
    });

    it("V8: are reached from the other host, though it sends from another address than the tunnel's", async () => {
      const [from, to] = HOSTS;
      const host = session.cluster.network.host(from.name);
      const server = session.cluster.network.pod(`world/client-${to.name}`);
      assert.ok(host !== undefined && server !== undefined);
      const answers = await session.cluster.prober.run(
        server.plan.addresses.map((address) => ({
          from: host.namespace,
          to: address,
          protocol: "TCP",
          port: 80,
          expect: false,
        })),
      );
      // The policy lets clients in and nobody else: a host is none. What counts is that its packet came by the tunnel.
      assert.deepEqual(answers, [false, false]);
      assert.match(
        onHost(session, to.name, "nft list chain ip calico filter-cali-INPUT"),
        /packets [1-9]\d* .*Allow IPv4 VXLAN/s,
      );
    });

    it("keep their connections over a kill of both agents, and the restart writes nothing", async () => {
      await Promise.all(HOSTS.map(({ name }) => session.cluster.agent(name).stop("SIGKILL")));
      assert.deepEqual(await mistakes(session), []);
      const before = HOSTS.map(({ name }) => onHost(session, name, "ip -d link show vxlan.calico"));
      for (const { name } of HOSTS) session.cluster.startAgent(name);
      await session.refresh();
      assert.deepEqual(await mistakes(session), []);
      assert.deepEqual(
        HOSTS.map(({ name }) => onHost(session, name, "ip -d link show vxlan.calico")),
        before,
      );
    });

    it("are together again when somebody deletes the device, an entry or a route", async () => {
      const [{ name }, other] = HOSTS;
      const entries = (): string => onHost(session, name, "bridge fdb show dev vxlan.calico");
      onHost(session, name, "ip link del vxlan.calico");
      await until("the device is back", () =>
        onHost(session, name, "ip route").includes(`${other.block} via ${other.tunnel} dev vxlan.calico`),
      );
      await until("its entries are back", () => entries().includes(`dst ${other.ip}`));
      assert.deepEqual(await mistakes(session), []);
      const [mac = ""] = entries().split(" ");
      onHost(session, name, `bridge fdb del ${mac} dev vxlan.calico dst ${other.ip} self`);
      await until("the entry is back", () => entries().includes(`dst ${other.ip}`));
      assert.deepEqual(await mistakes(session), []);
    });
  });
});
