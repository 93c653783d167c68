import type { Output } from "../cli/io.ts";
import type { ChangedTraffic, Comparison, FlowChange, SideChange } from "./compare.ts";
import { OTHER_PROTOCOL } from "./traffic.ts";

/** For people: each change with the sides that say something else, then a summary. */
export function comparisonText(comparison: Comparison, out: Output): string {
  const { changes, fresh, gone, bounded } = comparison;
  const lines: string[] = [];
  // From whom does not matter where all else is the same.
  for (const alike of Map.groupBy(changes, likeness).values()) lines.push(...changeLines(alike, out), "");
  lines.push(summary(comparison));
  if (fresh.length > 0) lines.push(`not compared, for they are new: ${someOf(fresh)}`);
  if (gone.length > 0) lines.push(`not compared, for they go: ${someOf(gone)}`);
  for (const one of bounded) lines.push(out.style("yellow", `bounded: ${one}`));
  return `${lines.join("\n")}\n`;
}

function likeness({ to, sides, traffic }: FlowChange): string {
  return JSON.stringify([to, sides, traffic]);
}

function changeLines(changes: readonly FlowChange[], out: Output): string[] {
  const [change] = changes;
  if (change === undefined) return [];
  const verdict =
    change.after === "allow" ? out.style("green", "+ deny -> allow") : out.style("red", "- allow -> deny");
  const from = changes.map((one) => like(one.from, one.fromCount)).join(", ");
  const traffic = change.isAllTraffic ? "all traffic" : change.traffic.map(trafficText).join("; ");
  return [
    `${verdict}  ${from} -> ${like(change.to, change.toCount)}  ${traffic}`,
    ...change.sides.map((side) => `    ${sideText(side)}`),
  ];
}

/** "shop/web (and 3 like it)". */
function like(name: string, count: number): string {
  return count === 1 ? name : `${name} (and ${count - 1} like it)`;
}

/** "TCP 80, 443-65535"; all ports need no numbers. */
function trafficText({ protocol, ports, sourcePort, icmp, ipVersions }: ChangedTraffic): string {
  const isAll = ports?.length === 1 && ports[0]?.first === 1 && ports[0].last === 65535;
  const words = [protocolText(protocol)];
  if (ports !== undefined && !isAll)
    words.push(ports.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(", "));
  if (sourcePort !== undefined) words.push(`from port ${sourcePort}`);
  if (icmp !== undefined) words.push(`type ${icmp.type}${icmp.code === undefined ? "" : ` code ${icmp.code}`}`);
  if (ipVersions.length === 1 && ipVersions[0] === 6) words.push("over IPv6");
  return words.join(" ");
}

function protocolText(protocol: string | number): string {
  if (protocol === OTHER_PROTOCOL) return "other protocols";
  return typeof protocol === "number" ? `protocol ${protocol}` : protocol.toUpperCase();
}

function sideText({ side, before, after }: SideChange): string {
  const word = ({ verdict, by }: SideChange["before"]): string =>
    verdict === "absent" ? "not judged" : `${verdict} by ${by}`;
  return `${side}: was ${word(before)}; then ${word(after)}`;
}

function summary({ changes, looked, endClasses, trafficClasses }: Comparison): string {
  const opened = changes.filter(({ after }) => after === "allow").length;
  const words = changes.length === 0 ? "no flow changes" : `${opened} opened, ${changes.length - opened} closed`;
  return `${words} (${looked} flows stand for all: ${endClasses} kinds of ends, ${trafficClasses} of traffic)`;
}

function someOf(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(", ");
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}
