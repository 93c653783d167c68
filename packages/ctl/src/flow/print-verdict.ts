import type { ExplainStep, HostVerdict, Outcome, SideVerdict } from "@bulrush/calc";
import type { Output } from "../cli/io.ts";
import type { Sourced, SourcedVerdict } from "./find-source.ts";
import type { RuleSource } from "./rule-source.ts";

/** A verdict as JSON data: the shape of the command's answers. Steps and what-ifs only when asked. */
export function verdictRecord(verdict: SourcedVerdict, withSteps: boolean): Record<string, unknown> {
  const side = <S extends SideVerdict | HostVerdict>(all: S): object => (withSteps ? all : withoutDetails(all));
  return {
    verdict: verdict.verdict,
    ...(verdict.egress !== undefined && { egress: side(verdict.egress) }),
    ...(verdict.ingress !== undefined && { ingress: side(verdict.ingress) }),
    ...(verdict.hosts !== undefined && { hosts: verdict.hosts.map(side) }),
    ...(verdict.staged !== undefined && { staged: verdict.staged }),
    ...(verdict.notes !== undefined && { notes: verdict.notes }),
  };
}

function withoutDetails<S extends SideVerdict | HostVerdict>(side: S): object {
  const details: ReadonlySet<string> = new Set(["steps", "next", "staged", "unselected"]);
  return Object.fromEntries(Object.entries(side).filter(([name]) => !details.has(name)));
}

export interface FlowTitle {
  readonly from: string;
  readonly to: string;
  /** "TCP 80". */
  readonly what: string;
}

/** A verdict for people: what decided, on each side, and with `withSteps` the way there. */
export function verdictText(title: FlowTitle, verdict: SourcedVerdict, out: Output, withSteps: boolean): string {
  const lines = [`${word(verdict.verdict, out)}  ${title.from} -> ${title.to}  ${title.what}`];
  const sides = [
    ["egress", title.from, verdict.egress],
    ["ingress", title.to, verdict.ingress],
  ] as const;
  const hosts = verdict.hosts ?? [];
  for (const [direction, end, side] of sides) {
    if (side !== undefined) {
      lines.push("", ...sideLines(direction, side, out, withSteps));
      if (withSteps) lines.push(...unselectedLines(side, out));
    } else if (!hosts.some((host) => host.direction === direction))
      lines.push("", `${direction}: not judged, for ${end} is not a known endpoint`);
    for (const host of hosts.filter((one) => one.direction === direction))
      lines.push(
        "",
        ...sideLines(`${direction} at host endpoint ${host.endpoint}, ${STAGES[host.stage]}`, host, out, withSteps),
      );
  }
  if (verdict.staged !== undefined) {
    const change = verdict.staged === verdict.verdict ? "still" : "then";
    lines.push("", `with staged policies enforced: ${change} ${word(verdict.staged, out)}`);
  }
  for (const note of verdict.notes ?? []) lines.push("", `note: ${note}`);
  return `${lines.join("\n")}\n`;
}

const STAGES = {
  untracked: "doNotTrack",
  "pre-dnat": "preDNAT",
  normal: "normal policy",
  forward: "applyOnForward",
} as const satisfies Record<HostVerdict["stage"], string>;

function sideLines(what: string, side: Sourced<SideVerdict | HostVerdict>, out: Output, withSteps: boolean): string[] {
  const decider = decidedBy(side);
  const lines = [
    `${what}: ${word(side.verdict, out)}${decider === "" ? "" : ` by ${out.style("bold", decider)}`}`,
    `  ${side.why}`,
  ];
  if (side.source !== undefined) lines.push(`  written at ${sourceText(side.source)}`);
  if (withSteps) lines.push(...side.steps.map((step) => `    ${stepText(step, out)}`));
  if (side.next !== undefined) lines.push(`  without it: ${outcomeText(side.next, out)}`);
  if (side.staged !== undefined) lines.push(`  with staged policies enforced: ${outcomeText(side.staged, out)}`);
  return lines;
}

/** "policies/web.yaml:12, spec.ingress[1].from[0]", or the field alone. */
export function sourceText({ file, line, field }: RuleSource): string {
  return file === undefined ? field : `${file}${line === undefined ? "" : `:${line}`}, ${field}`;
}

function unselectedLines({ unselected = [] }: SideVerdict, out: Output): string[] {
  if (unselected.length === 0) return [];
  return [
    "  does not apply to this endpoint:",
    ...unselected.map(({ policy, tier, why }) => `    ${policy} (tier ${tier}): ${out.style("dim", why)}`),
  ];
}

function outcomeText(outcome: Outcome, out: Output): string {
  const decider = decidedBy(outcome);
  return `${word(outcome.verdict, out)}${decider === "" ? `, for ${outcome.why}` : ` by ${decider}`}`;
}

/** "policy, rule 0 (tier t)", "the end of tier t", or "" for the end of all. */
export function decidedBy(side: Pick<Outcome, "tier" | "policy" | "rule">): string {
  const rule = side.rule === null ? "" : `, rule ${side.rule}`;
  const tier = side.tier === "" ? "" : ` (tier ${side.tier})`;
  if (side.policy !== "") return `${side.policy}${rule}${tier}`;
  return side.tier === "" ? "" : `the end of tier ${side.tier}`;
}

function stepText(step: ExplainStep, out: Output): string {
  const stage = step.tier === "" ? "end" : `end of tier ${step.tier}`;
  const place = `${step.policy === "" ? stage : step.policy}${step.rule === null ? "" : `, rule ${step.rule}`}`;
  const outcome = step.action === "none" ? step.outcome : `${step.outcome}, ${step.action}`;
  return `${place}: ${outcome}: ${out.style("dim", step.why)}`;
}

/** The verdict in its colour. */
export function word(verdict: Outcome["verdict"], out: Pick<Output, "style">): string {
  if (verdict === "none") return "undecided";
  return verdict === "allow" ? out.style("green", "allow") : out.style("red", "deny");
}
