import type { Resource } from "@bulrush/model";
import type { SourcePosition } from "../problem.ts";

/** One object of a manifest, with the defaults that an API server would have set. */
export interface ManifestResource {
  readonly resource: Resource;
  readonly source: SourcePosition;
}

/** A resource, and where it was read if it was. */
export interface PlacedResource {
  readonly resource: Resource;
  readonly source?: SourcePosition;
}
