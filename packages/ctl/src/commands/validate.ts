import { formatProblem, type ManifestResource, type Problem } from "@bulrush/datastore";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
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

/** One resource's judgement, as printed. */
interface Judgement {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly valid: boolean;
  readonly errors: readonly { readonly path: string; readonly message: string }[];
  readonly warnings: readonly { readonly path: string; readonly message: string }[];
  /** "-" for standard input. */
  readonly file: string;
}

async function runValidate(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const { resources, problems } = await readManifests(args.need("file"), io);
  const judgements = judge(resources, problems);
  const bad = judgements.filter((one) => !one.valid).length;
  if (format !== "text") await printItems(io.out, format, judgements);
  else await printText(judgements, problems, bad, io);
  return bad > 0 ? 1 : 0;
}

/** Every resource once, with what is wrong with it; then what is wrong and belongs to none (an unreadable file). */
function judge(resources: readonly ManifestResource[], problems: readonly Problem[]): Judgement[] {
  const bySubject = Map.groupBy(problems, subjectOf);
  const judgements = resources.map(({ resource, source }): Judgement => {
    const { kind, metadata } = resource;
    const subject = { kind, namespace: metadata.namespace ?? "", name: metadata.name };
    const own = bySubject.get(subjectOf(subject)) ?? [];
    bySubject.delete(subjectOf(subject));
    return { ...subject, ...split(own, false), file: source.file };
  });
  for (const own of bySubject.values()) {
    const [first] = own;
    const subject = { kind: first?.kind ?? "", namespace: first?.namespace ?? "", name: first?.name ?? "" };
    judgements.push({ ...subject, ...split(own, subject.kind === ""), file: first?.source?.file ?? "" });
  }
  return judgements;
}

function subjectOf(subject: {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly source?: Problem["source"];
}): string {
  // What names no resource stands for its own document.
  if (subject.name === undefined) return JSON.stringify([subject.source?.file, subject.source?.document]);
  return `${subject.kind}/${subject.namespace ?? ""}/${subject.name}`;
}

function split(problems: readonly Problem[], withPosition: boolean): Pick<Judgement, "valid" | "errors" | "warnings"> {
  const entry = (problem: Problem) => ({
    path: problem.field ?? "",
    message: withPosition ? formatProblem(problem) : problem.message,
  });
  const errors = problems.filter((problem) => problem.severity === "error").map(entry);
  const warnings = problems.filter((problem) => problem.severity === "warning").map(entry);
  return { valid: errors.length === 0, errors, warnings };
}

async function printText(
  judgements: readonly Judgement[],
  problems: readonly Problem[],
  bad: number,
  io: CommandIo,
): Promise<void> {
  await reportProblems(problems, io);
  const warnings = problems.filter((problem) => problem.severity === "warning").length;
  const counts = [
    `${judgements.length} resource${judgements.length === 1 ? "" : "s"}`,
    bad === 0 ? io.out.style("green", "all valid") : io.out.style("red", `${bad} bad`),
    ...(warnings > 0 ? [io.out.style("yellow", `${warnings} warning${warnings === 1 ? "" : "s"}`)] : []),
  ];
  await io.out.write(`${counts.join(", ")}\n`);
}
