import type { RuleState } from "@bulrush/nftables";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { commented } from "./layer.ts";
import { ACCEPT, address, COUNTER, equals, type Family, marked, meta, port, verdict } from "./statements.ts";

/** What virtual machines ask for their metadata, by HTTP. */
const METADATA_ADDRESS = "169.254.169.254";
const HTTP = 80;
const DNS = 53;
/** Ports of DHCP (RFC 2131) and DHCPv6 (RFC 8415). */
const DHCP = { 4: { client: 68, server: 67 }, 6: { client: 546, server: 547 } } as const;

/** A virtual machine without an address asks for one, ahead of the check of its source. IPv4 only. */
export function dhcpRequest(config: DataplaneConfig, family: Family): RuleState[] {
  if (config.openstack === undefined || family !== 4) return [];
  const { client, server } = DHCP[4];
  return [
    commented(
      "DHCP request of a workload without an address",
      marked(config.marks.scratch0),
      equals(meta("l4proto"), "udp"),
      equals(address("src", 4), "0.0.0.0"),
      equals(port("src"), client),
      equals(port("dst"), server),
      COUNTER,
      verdict(ACCEPT),
    ),
  ];
}

/** What virtual machines may ask their host for, whatever their policy: metadata, addresses, names. */
export function hostServices({ openstack }: DataplaneConfig, family: Family): RuleState[] {
  if (openstack === undefined) return [];
  const { metadata } = openstack;
  const { client, server } = DHCP[family];
  const isUdp = equals(meta("l4proto"), "udp");
  const rules: RuleState[] = [];
  if (family === 4 && metadata !== undefined)
    rules.push(
      commented(
        "OpenStack metadata",
        equals(meta("l4proto"), "tcp"),
        equals(address("dst", 4), metadata.address),
        equals(port("dst"), metadata.port),
        COUNTER,
        verdict(ACCEPT),
      ),
    );
  rules.push(
    commented("DHCP", isUdp, equals(port("src"), client), equals(port("dst"), server), COUNTER, verdict(ACCEPT)),
    commented("DNS", isUdp, equals(port("dst"), DNS), COUNTER, verdict(ACCEPT)),
  );
  return rules;
}

/** The well-known address of the metadata service leads to where it listens. */
export function metadataTranslation({ openstack }: DataplaneConfig, family: Family): RuleState[] {
  const metadata = openstack?.metadata;
  if (metadata === undefined || family !== 4) return [];
  const { address: to, port: number } = metadata;
  return [
    commented(
      "OpenStack metadata",
      equals(meta("l4proto"), "tcp"),
      equals(address("dst", 4), METADATA_ADDRESS),
      equals(port("dst"), HTTP),
      COUNTER,
      { kind: "nat", type: "dnat", address: to, ports: { first: number, last: number } },
    ),
  ];
}
