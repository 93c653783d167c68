/**
 * The revision of a kind that is made from several lists: theirs, with a slash between them (`12/345`). Each list goes
 * on from its own part, so that no change of one is missed because of an event of another.
 */
export function joinRevisions(parts: readonly string[]): string {
  return parts.every((part) => part === "") ? "" : parts.join("/");
}

/** The parts of a revision for `count` lists; "" and "0", from the beginning, stand for all of them. */
export function splitRevision(revision: string, count: number): readonly string[] {
  const parts = revision.split("/");
  if (parts.length === count) return parts;
  return Array.from({ length: count }, () => (revision === "0" ? "0" : ""));
}
