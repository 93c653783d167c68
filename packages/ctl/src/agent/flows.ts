import { printable } from "@bulrush/base";
import type { FlowRecord } from "@bulrush/dataplane";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { formatJson } from "../output/json.ts";
import { outputFormat, outputOption } from "../output/format.ts";
import { followAgent, SOCKET_OPTION } from "./agent-client.ts";

const FORMATS = ["text", "json"] as const;

type Line = FlowRecord | { readonly lost: number };

/** bulrushctl flows */
export const flows: Command = {
  name: "flows",
  summary: "Show connections that rules of this host have denied or logged",
  usage: ["flows [--follow] [--socket PATH] [-o FORMAT]"],
  description: [
    "Asks the agent of this host for the flows that it knows to be denied, or matched by a Log rule: when, which endpoint, from where to where, and the tier, policy and rule. The agent keeps the last 1,000, and none at all unless its setting FlowLogsLocalReporter is Enabled.",
    "At most ten packets a second of each rule are looked at, so a flood shows as a few lines. What is known to be left out is said.",
  ],
  options: [
    { name: "follow", short: "f", doc: "Go on with what comes, until interrupted." },
    SOCKET_OPTION,
    outputOption(FORMATS, "text"),
  ],
  examples: [
    { what: "who is knocking at closed doors?", line: "bulrushctl flows --follow" },
    { what: "one JSON object a line", line: "bulrushctl flows --follow -o json" },
  ],
  run: runFlows,
};

async function runFlows(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const path = args.has("follow") ? "/api/v1/flows?follow=1" : "/api/v1/flows";
  await followAgent<Line>(args, path, async (line) => {
    await io.out.write(`${format === "json" ? formatJson(line) : textOf(line)}\n`);
    await io.out.flush();
  });
  return 0;
}

function textOf(line: Line): string {
  if ("lost" in line) return `(${line.lost} packets were not looked at)`;
  const { atMs, direction, endpoint, packets, policy, rule, tier, verdict } = line;
  const owner = [tier === "" ? "" : `tier ${tier}`, policy].filter((word) => word !== "").join(" ");
  return [
    new Date(atMs).toISOString(),
    verdict === "deny" ? "denied" : "logged",
    direction,
    endpoint === "" ? "-" : printable(endpoint),
    `${endOf(line.source, line.sourcePort)} -> ${endOf(line.destination, line.destinationPort)}`,
    `${line.protocol}${line.icmp === undefined ? "" : ` type ${line.icmp.type} code ${line.icmp.code}`}`,
    `by ${[printable(owner), rule].filter((word) => word !== "").join(" ")}`,
    ...(packets === 1 ? [] : [`(${packets} packets)`]),
  ].join(" ");
}

function endOf(address: string, port: number | undefined): string {
  if (port === undefined) return address;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
