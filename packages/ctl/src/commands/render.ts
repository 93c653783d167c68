import type { CalcMessage } from "@bulrush/calc";
import { renderRuleset } from "@bulrush/dataplane";
import { formatRuleset } from "@bulrush/nftables";
import type { ToDataplane } from "@bulrush/proto";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { usageError } from "../errors.ts";
import { graphInSync } from "../input/graph.ts";
import { graphConfigFor } from "../input/graph-config.ts";
import { FILE_OPTION, readManifestsAloud } from "../input/manifests.ts";

/** bulrushctl render -f PATH --hostname H */
export const render: Command = {
  name: "render",
  summary: "Show the nftables ruleset of one host",
  usage: ["render -f PATH --hostname HOST [--set NAME=VALUE]..."],
  description: [
    "Prints the whole ruleset that the agent of a host would put into the kernel for these manifests, in the syntax of nft: it can be read by people, compared between two versions of the manifests, and checked with `nft --check -f`. It is made by the agent's own graph and dataplane code.",
  ],
  options: [
    FILE_OPTION,
    { name: "hostname", value: "HOST", doc: "The host: a Node's name." },
    {
      name: "set",
      value: "NAME=VALUE",
      doc: "An agent setting by its FelixConfiguration name, as the agent's environment would have it. May be given several times.",
      multiple: true,
    },
  ],
  examples: [
    { what: "what would node-1 enforce?", line: "bulrushctl render -f cluster/ --hostname node-1" },
    {
      what: "what does a change do to it?",
      line: "diff <(bulrushctl render -f old/ --hostname node-1) <(bulrushctl render -f new/ --hostname node-1)",
    },
  ],
  run: runRender,
};

async function runRender(args: Arguments, io: CommandIo): Promise<number> {
  const path = args.need("file");
  const hostname = args.need("hostname");
  const settings = parseSettings(args.all("set"));
  const { updates } = await readManifestsAloud(path, io);
  const messages: ToDataplane[] = [];
  const sink = (message: CalcMessage): void => {
    if (isForDataplane(message)) messages.push(message);
  };
  graphInSync(updates, hostname, sink, graphConfigFor(updates, hostname, settings));
  // Tells the host's own end of a tunnel from those of others.
  const all = new Map([...settings, ["FelixHostname", hostname]]);
  for (const table of renderRuleset(messages, all)) await io.out.write(formatRuleset(table));
  return 0;
}

function isForDataplane(message: CalcMessage): message is ToDataplane {
  return message.msg !== "DatastoreNotReady";
}

function parseSettings(texts: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    texts.map((text) => {
      const at = text.indexOf("=");
      if (at <= 0) throw usageError(`"${text}" in --set is not NAME=VALUE`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}
