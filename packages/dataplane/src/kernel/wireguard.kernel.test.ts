import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, it } from "node:test";
import { openRouteConnection, openWireguard } from "@bulrush/netlink";
import { kernelTests, wireguardPublicKey } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { newWireguardKey } from "../wireguard/new-wireguard-key.ts";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { clusterRoute, IN_SYNC, profile, rule, workload } from "../testing/messages.ts";

const DEVICE = "wireguard.cali";
/** A pod of this host, and one of the other host, which is the lab's outside machine. */
const POD = "10.65.1.2";
const FAR_POD = "10.65.2.2";
const FAR_HOST = "192.168.7.2";
const FAR_NAMESPACE = "/run/netns/ext";

/** Whether this kernel has such devices (CONFIG_WIREGUARD), by the word of ip(8). */
function kernelHasWireguard(): boolean {
  try {
    execFileSync("ip", ["link", "add", "probe", "type", "wireguard"], { encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    assert.match(String(error), /Unknown device type|not supported/);
    return false;
  }
  execFileSync("ip", ["link", "delete", "probe"]);
  return true;
}

kernelTests(import.meta.filename, () => {
  const hasWireguard = kernelHasWireguard();
  let lab: KernelLab;
  let dataplane: KernelDataplane;
  const farKey = newWireguardKey();
  const far = wireguardPublicKey(farKey);

  const key = (hostname: string, publicKey: string): ToDataplane => ({
    msg: "WireguardEndpointUpdate",
    hostname,
    public_key: publicKey,
    interface_ipv4_addr: "",
  });
  const metadata = (hostname: string, address: string): ToDataplane => ({
    msg: "HostMetadataUpdate",
    hostname,
    ipv4_addr: `${address}/24`,
    ipv6_addr: "",
    asnumber: "",
    labels: new Map(),
  });
  const ownKey = (): string => {
    const wireguard = openWireguard();
    const publicKey = wireguard?.device(DEVICE)?.publicKey ?? "";
    wireguard?.close();
    return publicKey;
  };
  /** Packets of TCP that came in by eth0 as they are. */
  const plainPackets = (): number =>
    Number(dataplane.kernel.nft.readTable("ip", "probe")?.chains.get("in")?.rules[0]?.counter?.packets ?? 0n);

  /** From the other host to the pod. On a busy machine not with the first try. */
  const connects = async (): Promise<void> => {
    for (let tries = 0; tries < 40; tries++) if ((await lab.connect("ext", POD, 80)) === "connected") return;
    assert.fail("There is no connection to the pod");
  };

  before(async () => {
    lab = new KernelLab();
    lab.addPod("a", POD);
    dataplane = startKernelDataplane({ FelixHostname: "oak", WireguardEnabled: "true" });
    await lab.serve("a", 80);
    await dataplane.send(
      profile("open", [rule("allow")], [rule("allow")]),
      workload("a", { ipv4_nets: [`${POD}/32`], mac: lab.macOf("a"), profile_ids: ["open"] }),
      metadata("oak", "192.168.7.1"),
      metadata("elm", FAR_HOST),
      clusterRoute("10.65.1.0/26", { dst_node_name: "oak", types: ["LOCAL_WORKLOAD"], ip_pool_type: "NO_ENCAP" }),
      clusterRoute("10.65.2.0/26", { dst_node_name: "elm", ip_pool_type: "NO_ENCAP" }),
      key("elm", far),
      IN_SYNC,
    );
    await until("the pod has its route", () => lab.run("ip route").includes(`${POD} dev calia`));
    lab.nft(
      `table ip probe { chain in { type filter hook prerouting priority -400; iifname "eth0" meta l4proto tcp counter; }; }`,
    );
  });
  after(async () => {
    lab.close();
    await dataplane.stop();
  });

  if (!hasWireguard) {
    it("[kernel] no wireguard device: packets go as they are", async () => {
      await until("the dataplane has done what it can", () => dataplane.status()?.phase === "in-sync");
      assert.deepEqual(
        dataplane.kernel.routes.rules(4).filter(({ table }) => table === 1),
        [],
      );
      await connects();
      assert.ok(plainPackets() > 0);
    });
    return;
  }

  it("V9: what goes to a host with a key is encrypted, both ways, and a change from outside is put right", async () => {
    await until("the device has a key", () => ownKey() !== "");
    // The other host, by hand.
    const routes = openRouteConnection({ namespace: FAR_NAMESPACE });
    routes.write({ kind: "add-link", plain: { name: "wg0", kind: "wireguard", up: true } });
    routes.close();
    const wireguard = openWireguard({ namespace: FAR_NAMESPACE }) ?? assert.fail("no WireGuard");
    const peer = { publicKey: ownKey(), endpoint: "192.168.7.1:51820", allowedIps: ["10.65.1.0/26"] };
    wireguard.change({ name: "wg0", privateKey: farKey, port: 51820, peers: [peer] });
    lab.run(`ip -n ext addr add ${FAR_POD}/32 dev wg0`);
    lab.run("ip -n ext route add 10.65.1.0/26 dev wg0 src " + FAR_POD);

    await dataplane.send(key("oak", ownKey()));
    await until("the rule is there", () =>
      lab.run("ip rule").includes("not from all fwmark 0x200000/0x200000 lookup 1"),
    );
    assert.deepEqual(
      lab
        .run("ip route show table 1")
        .trim()
        .split("\n")
        .map((line) => line.trim())
        .sort(),
      [`10.65.2.0/26 dev ${DEVICE} proto 80 scope link`, "throw 10.65.1.0/26 proto 80"],
    );
    await connects();
    assert.equal(plainPackets(), 0, "nothing of it is seen on the wire");
    const [seen] = wireguard.device("wg0")?.peers ?? [];
    assert.ok((seen?.receivedBytes ?? 0n) > 0n && (seen?.lastHandshakeSeconds ?? 0) > 0);

    lab.run("ip rule del priority 99");
    lab.run(`ip route del 10.65.2.0/26 dev ${DEVICE} table 1`);
    await until(
      "rule and route are back",
      () => lab.run("ip rule").includes("lookup 1") && lab.run("ip route show table 1").includes("10.65.2.0/26"),
    );
    const writes = dataplane.status()?.counters.routeWrites;
    await dataplane.send(key("oak", ownKey()));
    assert.equal(dataplane.status()?.counters.routeWrites, writes);
    wireguard.close();
  });
});
