import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseDataplaneConfig } from "../config/parse-config.ts";
import { Interfaces } from "../manager/interfaces.ts";
import { FakeFiles } from "../testing/fake-files.ts";
import { encapsulation } from "../testing/messages.ts";
import { MtuFile } from "./mtu-file.ts";

const PATH = "/var/lib/calico/mtu";

describe("MtuFile", () => {
  const setUp = (settings: Record<string, string> = {}) => {
    const { config } = parseDataplaneConfig(new Map(Object.entries({ MTUFile: PATH, ...settings })));
    const interfaces = new Interfaces();
    const link = (name: string, mtu: number, up = true): void =>
      interfaces.put(name, { name, index: 2, up, mtu, addresses: new Set() });
    return { interfaces, link, file: new MtuFile(config, interfaces), files: new FakeFiles() };
  };

  const CASES: readonly (readonly [string, Record<string, boolean>, Record<string, string>, string])[] = [
    ["without a tunnel", {}, {}, "1500"],
    ["with IPIP", { ipip_enabled: true }, {}, "1480"],
    ["with VXLAN of IPv4", { vxlan_enabled: true }, {}, "1450"],
    ["with VXLAN of both families", { vxlan_enabled: true, vxlan_enabled_v6: true }, {}, "1430"],
    ["with VXLAN of IPv6 where IPv6 is off", { vxlan_enabled_v6: true }, { Ipv6Support: "false" }, "1500"],
    ["with WireGuard", { ipip_enabled: true }, { WireguardEnabled: "true" }, "1440"],
    [
      "with WireGuard of hosts themselves on AKS",
      {},
      { ClusterType: "k8s,kdd,aks", WireguardEnabled: "true", WireguardHostEncryptionEnabled: "true" },
      "1340",
    ],
    ["with WireGuard of pods on AKS", {}, { ClusterType: "k8s,AKS", WireguardEnabled: "true" }, "1440"],
    ["with WireGuard of IPv6", {}, { WireguardEnabledV6: "true" }, "1420"],
    [
      "with MTUs that are set",
      { ipip_enabled: true, vxlan_enabled: true },
      { IpInIpMtu: "1300", VXLANMTU: "1400" },
      "1300",
    ],
  ];
  for (const [what, tunnels, settings, mtu] of CASES)
    it(`says ${mtu} ${what}`, () => {
      const { file, files, link } = setUp(settings);
      link("eth0", 1500);
      file.onUpdate(encapsulation(tunnels));
      assert.deepEqual(file.apply(files), []);
      assert.deepEqual([...files.texts], [[PATH, mtu]]);
    });

  it("V4: follows the host's MTU, and is written when it is another only", () => {
    const { file, files, interfaces, link } = setUp();
    files.texts.set(PATH, "1450");
    link("eth0", 1500);
    assert.deepEqual([file.apply(files), files.writes], [[], []], "the tunnels are not known");
    file.onUpdate(encapsulation({ vxlan_enabled: true }));
    file.apply(files);
    assert.deepEqual(files.writes, []);
    link("eth0", 1400);
    file.apply(files);
    assert.equal(files.texts.get(PATH), "1350");
    interfaces.put("eth0", undefined);
    file.apply(files);
    assert.equal(files.texts.get(PATH), "1410", "50 below 1460, where no interface tells");
  });

  it("tells of a failure, and tries again", () => {
    const { file, files } = setUp();
    file.onUpdate(encapsulation({}));
    files.isFull = true;
    assert.match(file.apply(files)[0] ?? "", /no space left/);
    files.isFull = false;
    assert.deepEqual(file.apply(files), []);
    assert.equal(files.texts.get(PATH), "1460");
  });

  it("is not written where none is wanted", () => {
    const { file, files } = setUp({ MTUFile: "none" });
    file.onUpdate(encapsulation({}));
    assert.deepEqual([file.apply(files), files.writes], [[], []]);
  });
});
