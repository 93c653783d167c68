import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import { startKernelDataplane } from "../testing/kernel-dataplane.ts";
import { IN_SYNC } from "../testing/messages.ts";

const OTHERS = `
  chain DOCKER { ip daddr 172.17.0.2 tcp dport 80 counter accept; }
  chain FORWARD { type filter hook forward priority filter; policy accept;`;
const FOREIGN = `
table ip filter {${OTHERS}
    counter jump DOCKER
    ip saddr 10.0.0.0/8 counter accept comment "kubernetes forwarding rules"
  }
}
table inet nixos-fw {
  set s { type ipv4_addr; flags interval; elements = { 10.0.0.0/8, 192.168.0.0-192.168.0.9 }; }
  chain input { type filter hook input priority 0; policy accept; ip saddr @s tcp dport { 22, 80-90 } accept; }
}
table ip nat {
  map m { type inet_service : verdict; elements = { 53 : accept }; }
  chain POSTROUTING { type nat hook postrouting priority srcnat; tcp dport vmap @m; }
}`;
const FELIX = `
add chain ip filter cali-FORWARD
add chain ip filter cali-from-wl
add rule ip filter cali-FORWARD iifname "cali*" counter jump cali-from-wl
add rule ip filter cali-from-wl counter drop
insert rule ip filter FORWARD counter jump cali-FORWARD comment "cali:wUHhoiAYhphO9Mso"
add rule ip filter FORWARD meta mark & 0x10000 == 0x10000 counter accept comment "cali:S93hcgKJrXEqnTfs"
add chain ip nat cali-POSTROUTING
insert rule ip nat POSTROUTING jump cali-POSTROUTING`;

kernelTests(import.meta.filename, () => {
  const nft = (...words: readonly string[]): string => execFileSync("nft", words, { encoding: "utf8" });
  const load = (rules: string): void => void execFileSync("nft", ["-f", "-"], { input: rules });
  const foreign = (): string =>
    [
      ["ip", "filter"],
      ["inet", "nixos-fw"],
      ["ip", "nat"],
    ]
      .map(([family = "", name = ""]) => nft("list", "table", family, name))
      .join("");

  it("N9: rules of an earlier Felix go, and everything of others is as it was", async () => {
    load(FOREIGN);
    const before = foreign();
    load(FELIX);
    assert.notEqual(foreign(), before);
    const dataplane = startKernelDataplane();
    await dataplane.send(IN_SYNC);
    assert.equal(foreign(), before);
    await dataplane.stop();
    assert.equal(foreign(), before);
  });
});
