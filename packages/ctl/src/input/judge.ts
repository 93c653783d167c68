import type { ManifestResource, Problem } from "@bulrush/datastore";
import { validateResource } from "@bulrush/model";
import { lint } from "../lint/lint.ts";
import type { Warning, WarningCode } from "../lint/warning.ts";
import { asClear } from "./as-clear.ts";
import type { ManifestInput } from "./manifests.ts";

/** A problem with the code of a warning. */
interface CodedProblem extends Problem {
  readonly code?: WarningCode;
}

/** One thing that is wrong, as printed. */
interface Complaint {
  /** Dotted path of the field; "" when the whole is meant. */
  readonly path: string;
  readonly message: string;
  /** Of a warning about what is legal: see the README. */
  readonly code?: WarningCode;
}

/** What is to be said about one resource. */
export interface Judgement {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** No errors; warnings do not count. */
  readonly valid: boolean;
  readonly errors: readonly Complaint[];
  readonly warnings: readonly Complaint[];
  /** "-" for standard input. */
  readonly file: string;
  /** From 1; 0 when not known. */
  readonly line: number;
}

export interface Judged {
  /** Every resource once, in their order; then what belongs to none (an unreadable file, a second definition). */
  readonly judgements: readonly Judgement[];
  /** The same as a list for people. */
  readonly problems: readonly CodedProblem[];
}

/**
 * Checks each resource as its author wrote it (actions and types in any case, which count so), and joins that with what loading and converting found, and with warnings
 * about what is legal and surely not meant.
 */
export function judgeManifests({ resources, updates, problems }: ManifestInput): Judged {
  const bySource = Map.groupBy(problems, ({ source }) => source);
  // What is said of a field stands at the field's own line.
  const byName = Map.groupBy(
    problems.filter(({ field }) => field !== undefined),
    ({ source, kind, namespace, name }) => nameIn(source, kind, namespace, name),
  );
  const rest = new Set(problems);
  const byEntry = new Map<ManifestResource, CodedProblem[]>();
  for (const entry of resources) {
    // Positions are made one per resource and handed on: the same object means the same resource.
    const { kind, metadata } = entry.resource;
    const named = byName.get(nameIn(entry.source, kind, metadata.namespace, metadata.name)) ?? [];
    const found = [...new Set([...(bySource.get(entry.source) ?? []), ...named])];
    for (const problem of found) rest.delete(problem);
    byEntry.set(entry, withoutRepeats(validated(entry), found));
  }
  const good = resources.filter((entry) => !byEntry.get(entry)?.some(({ severity }) => severity === "error"));
  for (const warning of lint(good, updates)) byEntry.get(warning.entry)?.push(asProblem(warning));
  const judgements = [...byEntry].map(([{ resource, source }, own]) => {
    const { kind, metadata } = resource;
    return judgement({ kind, namespace: metadata.namespace ?? "", name: metadata.name }, own, source);
  });
  for (const problem of rest) {
    const { kind = "", namespace = "", name = "" } = problem;
    judgements.push(judgement({ kind, namespace, name }, [problem], problem.source));
  }
  return { judgements, problems: [...[...byEntry.values()].flat(), ...rest] };
}

function asProblem({ code, entry, field, message }: Warning): CodedProblem {
  const { kind, metadata } = entry.resource;
  const { namespace, name } = metadata;
  return {
    severity: "warning",
    code,
    message,
    source: entry.source,
    kind,
    ...(namespace !== undefined && { namespace }),
    name,
    field,
  };
}

/** A resource by its name, in the document that it stands in. */
function nameIn(source: Problem["source"], kind = "", namespace = "", name = ""): string {
  return JSON.stringify([source?.file, source?.document, kind, namespace, name]);
}

function validated({ resource, source }: ManifestResource): Problem[] {
  const { kind, metadata } = resource;
  return validateResource(asClear(resource)).map(({ path, message }) => ({
    severity: "error",
    message,
    source,
    kind,
    ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
    name: metadata.name,
    ...(path !== "" && { field: path }),
  }));
}

/** Converting finds again what checking has found, in other words: of one field the first word is enough. */
function withoutRepeats(checked: readonly Problem[], found: readonly Problem[]): Problem[] {
  const fields = checked.map(({ field }) => field ?? "");
  const isNew = ({ field = "" }: Problem): boolean =>
    !fields.some(
      (known) =>
        known === field ||
        field.startsWith(`${known}.`) ||
        known.startsWith(`${field}.`) ||
        known.startsWith(`${field}[`),
    );
  return [...checked, ...found.filter(isNew)];
}

function judgement(
  subject: Pick<Judgement, "kind" | "namespace" | "name">,
  problems: readonly CodedProblem[],
  source: Problem["source"],
): Judgement {
  const of = (severity: Problem["severity"]): Complaint[] =>
    problems
      .filter((problem) => problem.severity === severity)
      .map(({ field, message, code }) => ({ path: field ?? "", message, ...(code !== undefined && { code }) }));
  const errors = of("error");
  const position = { file: source?.file ?? "", line: source?.line ?? 0 };
  return { ...subject, valid: errors.length === 0, errors, warnings: of("warning"), ...position };
}
