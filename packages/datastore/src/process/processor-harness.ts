import { formatKey, plainValue, type Resource } from "@bulrush/model";
import type { DatastoreKind } from "../driver/kind.ts";
import { type Processed, processSafely, type UpdateProcessor } from "./processor.ts";
import { processorOf } from "./table.ts";

export interface Stored {
  readonly spec?: unknown;
  readonly status?: unknown;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly namespace?: string;
  readonly revision?: string;
}

export function processor(kind: DatastoreKind, usePodCIDR = false): UpdateProcessor {
  return processorOf(kind, { usePodCIDR, nodeName: "" });
}

/** `state` undefined: deleted. */
export function run(on: UpdateProcessor, kind: DatastoreKind, name: string, state: Stored | undefined): Processed {
  const { namespace = "", revision = "1", labels, annotations, spec, status } = state ?? {};
  const metadata = { name, ...(labels && { labels }), ...(annotations && { annotations }) };
  const value: Resource = { apiVersion: "projectcalico.org/v3", kind, metadata, spec, status };
  return processSafely(on, {
    item: { kind, namespace, name },
    value: state === undefined ? undefined : value,
    revision,
  });
}

/** Path to value; undefined values stay. */
export function kvs(result: Processed): Record<string, unknown> {
  return Object.fromEntries(
    result.outputs.map(({ key, value }) => [formatKey(key), value === undefined ? undefined : plainValue(value)]),
  );
}

export function convert(kind: DatastoreKind, name: string, state: Stored): Record<string, unknown> {
  return kvs(run(processor(kind), kind, name, state));
}
