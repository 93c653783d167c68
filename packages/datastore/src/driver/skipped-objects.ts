import { boundedProblems, type Problem } from "../problem.ts";

/** Problems kept of each source. */
const MAX_PROBLEMS = 20;

/** Objects of the API server that could not even be named, until their list is read anew. Bounded. */
export class SkippedObjects {
  readonly #bySource = new Map<string, Problem[]>();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** A list of the source begins. */
  startList(source: string): void {
    if (this.#bySource.delete(source)) this.#onChange();
  }

  add(source: string, kind: string, message: string): void {
    const known = this.#bySource.get(source) ?? [];
    if (known.length > MAX_PROBLEMS) return;
    known.push({ severity: "error", message, kind, effect: "ignored" });
    this.#bySource.set(source, known);
    this.#onChange();
  }

  list(): readonly Problem[] {
    return [...this.#bySource.values()].flatMap((problems) => boundedProblems(problems, MAX_PROBLEMS));
  }
}
