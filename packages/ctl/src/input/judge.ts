import type { ManifestResource, Problem } from "@bulrush/datastore";
import { validateResource } from "@bulrush/model";
import type { ManifestInput } from "./manifests.ts";

/** One thing that is wrong, as printed. */
interface Complaint {
  /** Dotted path of the field; "" when the whole is meant. */
  readonly path: string;
  readonly message: string;
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
  readonly problems: readonly Problem[];
}

/** Checks each resource as its author wrote it, and joins that with what loading and converting found. */
export function judgeManifests({ resources, problems }: ManifestInput): Judged {
  const bySource = Map.groupBy(problems, ({ source }) => source);
  // What is said of a field stands at the field's own line.
  const byName = Map.groupBy(
    problems.filter(({ field }) => field !== undefined),
    ({ source, kind, namespace, name }) => nameIn(source, kind, namespace, name),
  );
  const rest = new Set(problems);
  const all: Problem[] = [];
  const judgements = resources.map((entry) => {
    // Positions are made one per resource and handed on: the same object means the same resource.
    const { kind, metadata } = entry.resource;
    const named = byName.get(nameIn(entry.source, kind, metadata.namespace, metadata.name)) ?? [];
    const found = [...new Set([...(bySource.get(entry.source) ?? []), ...named])];
    for (const problem of found) rest.delete(problem);
    const own = withoutRepeats(validated(entry), found);
    all.push(...own);
    return judgement({ kind, namespace: metadata.namespace ?? "", name: metadata.name }, own, entry.source);
  });
  all.push(...rest);
  for (const problem of rest) {
    const { kind = "", namespace = "", name = "" } = problem;
    judgements.push(judgement({ kind, namespace, name }, [problem], problem.source));
  }
  return { judgements, problems: all };
}

/** A resource by its name, in the document that it stands in. */
function nameIn(source: Problem["source"], kind = "", namespace = "", name = ""): string {
  return JSON.stringify([source?.file, source?.document, kind, namespace, name]);
}

function validated({ resource, source }: ManifestResource): Problem[] {
  const { kind, metadata } = resource;
  return validateResource(resource).map(({ path, message }) => ({
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
  problems: readonly Problem[],
  source: Problem["source"],
): Judgement {
  const of = (severity: Problem["severity"]): Complaint[] =>
    problems
      .filter((problem) => problem.severity === severity)
      .map(({ field, message }) => ({ path: field ?? "", message }));
  const errors = of("error");
  const position = { file: source?.file ?? "", line: source?.line ?? 0 };
  return { ...subject, valid: errors.length === 0, errors, warnings: of("warning"), ...position };
}
