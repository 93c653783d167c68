import type { Problem } from "@bulrush/datastore";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { judgeManifests } from "../input/judge.ts";
import { FILE_OPTION, readManifests, reportProblems } from "../input/manifests.ts";
import { outputFormat, outputOption, printItems } from "../output/format.ts";

const FORMATS = ["text", "json", "ndjson", "yaml"] as const;

/** bulrushctl validate -f PATH */
export const validate: Command = {
  name: "validate",
  summary: "Check manifests and say what is wrong, by file and field",
  usage: ["validate -f PATH [-o FORMAT]"],
  description: [
    "Reads manifests as the agents would and checks every resource: its kind, its fields, selectors, addresses, ports, and that no two files define the same thing. Prints what is wrong with file, line and field.",
    "Exit code 1 if any resource is bad. Warnings (what is legal but surely not meant) do not count.",
  ],
  options: [FILE_OPTION, outputOption(FORMATS, "text")],
  examples: [
    { what: "check a directory before it is committed", line: "bulrushctl validate -f policies/" },
    { what: "check what a template makes", line: "helm template shop | bulrushctl validate -f -" },
    {
      what: "the bad ones only, for another program",
      line: "bulrushctl validate -f policies/ -o json | jq '.[] | select(.valid | not)'",
    },
  ],
  run: runValidate,
};

async function runValidate(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const { judgements, problems } = judgeManifests(await readManifests(args.need("file"), io));
  const bad = judgements.filter((one) => !one.valid).length;
  if (format !== "text") await printItems(io.out, format, judgements);
  else {
    await reportProblems(problems, io);
    await io.out.write(`${summary(judgements.length, bad, problems, io)}\n`);
  }
  return bad > 0 ? 1 : 0;
}

function summary(total: number, bad: number, problems: readonly Problem[], io: CommandIo): string {
  const warnings = problems.filter((problem) => problem.severity === "warning").length;
  const parts = [
    `${total} resource${total === 1 ? "" : "s"}`,
    bad === 0 ? io.out.style("green", "all valid") : io.out.style("red", `${bad} bad`),
  ];
  if (warnings > 0) parts.push(io.out.style("yellow", `${warnings} warning${warnings === 1 ? "" : "s"}`));
  return parts.join(", ");
}
