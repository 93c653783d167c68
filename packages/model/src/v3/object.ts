import type { Resource } from "../v1/value.ts";

/** A resource with a typed spec and status. What is read from outside is not checked: validation does that. */
export interface ResourceOf<Spec, Status = unknown> extends Resource {
  readonly spec?: Spec;
  readonly status?: Status;
}

/** A plain object of strings, as JSON has it. */
export type StringMap = Readonly<Record<string, string>>;
