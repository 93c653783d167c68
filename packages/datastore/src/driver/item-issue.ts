/** Something about one stored thing that could not be read, or is surely not meant. */
export interface ItemIssue {
  readonly severity: "error" | "warning";
  /** Dotted path with indexes, from the resource on; "" for the whole of it. */
  readonly field: string;
  readonly message: string;
}
