import { printable } from "@bulrush/base";
import type { EndpointReport, HostReport } from "@bulrush/dataplane";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo, Output } from "../cli/io.ts";
import { inputError } from "../errors.ts";
import { outputFormat, outputOption, printValue } from "../output/format.ts";
import { askAgent, SOCKET_OPTION } from "./agent-client.ts";

const FORMATS = ["text", "json", "yaml"] as const;

/** bulrushctl endpoints [NAME...] */
export const endpoints: Command = {
  name: "endpoints",
  summary: "Show what the agent of this host guards, and by which policies",
  usage: ["endpoints [NAME...] [--socket PATH] [-o FORMAT]"],
  description: [
    "Asks the agent of this host for its pods and host endpoints as it has them now: interface, addresses, the policies that judge each, in the order in which packets meet them, and whether it is up. A pod is down while its interface is not there, not up, or not configured yet; a host endpoint while its interface is not up, and in error where it guards no interface of this host. Before that, how far the kernel is: in-sync once it has all that is wanted, retrying while a write fails.",
    "What the datastore says is what `explain --live` judges; this is what has come to the host. NAME is namespace/pod or a host endpoint; exit code 1 where the host does not have it.",
  ],
  options: [SOCKET_OPTION, outputOption(FORMATS, "text")],
  examples: [
    { what: "has this pod its policies on this host?", line: "bulrushctl endpoints shop/web" },
    {
      what: "which endpoints are not up?",
      line: "bulrushctl endpoints -o json | jq '.endpoints[] | select(.status != \"up\")'",
    },
  ],
  run: runEndpoints,
};

async function runEndpoints(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const report = await askAgent<HostReport>(args, "/api/v1/endpoints");
  const { positionals } = args;
  for (const name of positionals)
    if (!report.endpoints.some((endpoint) => endpoint.name === name))
      throw inputError(`The agent of this host has no endpoint "${name}" (it is ${report.phase}: ${report.reason})`);
  const shown = report.endpoints.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  if (format !== "text") await printValue(io.out, format, { ...report, endpoints: shown });
  else {
    await io.out.write(`${printable(`${report.phase}: ${report.reason}`)}\n`);
    for (const endpoint of shown) await io.out.write(`\n${endpointText(endpoint, io.out)}\n`);
    if (shown.length === 0) await io.out.write("It has no endpoints.\n");
  }
  return 0;
}

function endpointText(endpoint: EndpointReport, out: Output): string {
  const { addresses, interfaceName, kind, name, status } = endpoint;
  const where = interfaceName === "" ? "by address" : interfaceName;
  const head = [kind === "host" ? `host endpoint ${name}` : name, where, ...addresses].map(printable).join("  ");
  return [
    `${out.style("bold", head)}  ${statusText(status, out)}`,
    ...(["ingress", "egress"] as const).map((direction) => `  ${direction}: ${listsText(endpoint, direction)}`),
  ].join("\n");
}

function statusText(status: string | undefined, out: Output): string {
  if (status === undefined) return out.style("yellow", "not reported yet");
  return out.style(status === "up" ? "green" : "red", printable(status));
}

/** The tiers with policies for the direction, and what becomes of the rest. */
function listsText({ tiers, profiles }: EndpointReport, direction: "ingress" | "egress"): string {
  const used = tiers.filter((tier) => tier[direction].length > 0);
  const parts = used.map(({ end, name, stage, ...lists }) => {
    const enforced = lists[direction].some((policy) => !policy.startsWith("Staged"));
    const ends =
      !enforced || stage === "untracked" || stage === "pre-dnat"
        ? ""
        : end === "Pass"
          ? ", then passes"
          : ", then denies";
    return `${stage === "normal" ? "" : `${stage} `}tier ${name} (${lists[direction].join(", ")}${ends})`;
  });
  const denies = used.some(
    ({ end, stage, ...lists }) =>
      stage === "normal" && end === "Deny" && lists[direction].some((policy) => !policy.startsWith("Staged")),
  );
  const rest = profiles.length === 0 ? "no profile: the rest is denied" : `profiles ${profiles.join(", ")}`;
  const all = denies ? parts : [...(parts.length === 0 ? ["no policy"] : parts), rest];
  return printable(all.join("; "));
}
