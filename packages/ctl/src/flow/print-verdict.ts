import type { ExplainStep, FlowVerdict, SideVerdict } from "@bulrush/calc";
import type { Output } from "../cli/io.ts";

/** A verdict as JSON data: the shape of the command's answers. Steps only when asked. */
export function verdictRecord(verdict: FlowVerdict, withSteps: boolean): Record<string, unknown> {
  const side = ({ steps, ...rest }: SideVerdict): object => (withSteps ? { ...rest, steps } : rest);
  return {
    verdict: verdict.verdict,
    ...(verdict.egress !== undefined && { egress: side(verdict.egress) }),
    ...(verdict.ingress !== undefined && { ingress: side(verdict.ingress) }),
  };
}

export interface FlowTitle {
  readonly from: string;
  readonly to: string;
  /** "TCP 80". */
  readonly what: string;
}

/** A verdict for people: what decided, on each side, and with `withSteps` the way there. */
export function verdictText(title: FlowTitle, verdict: FlowVerdict, out: Output, withSteps: boolean): string {
  const lines = [`${word(verdict.verdict, out)}  ${title.from} -> ${title.to}  ${title.what}`];
  const sides = [
    ["egress", title.from, verdict.egress],
    ["ingress", title.to, verdict.ingress],
  ] as const;
  for (const [direction, end, side] of sides) {
    if (side === undefined) {
      lines.push("", `${direction}: not judged, for ${end} is not a known endpoint`);
      continue;
    }
    const decider = decidedBy(side);
    lines.push(
      "",
      `${direction}: ${word(side.verdict, out)}${decider === "" ? "" : ` by ${out.style("bold", decider)}`}`,
      `  ${side.why}`,
    );
    if (withSteps) lines.push(...side.steps.map((step) => `    ${stepText(step, out)}`));
  }
  return `${lines.join("\n")}\n`;
}

function decidedBy(side: SideVerdict): string {
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

function word(verdict: "allow" | "deny", out: Output): string {
  return verdict === "allow" ? out.style("green", "allow") : out.style("red", "deny");
}
