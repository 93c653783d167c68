import type { Key, KeyType, Resource, ResourceKey, ResourceKind, ValueOf } from "@bulrush/model";
import type { CalcGraphConfig } from "../../graph/config.ts";
import type { KV } from "../harness.ts";

/** All that the datastore holds, by path. The model below reads nothing else: no history, no index. */
export type Contents = ReadonlyMap<string, KV>;

type KeyOf<T extends KeyType> = Extract<Key, { readonly type: T }>;

/** Every key of one type with its value. */
export function entriesOf<T extends KeyType>(contents: Contents, type: T): (readonly [KeyOf<T>, ValueOf[T]])[] {
  const out: (readonly [KeyOf<T>, ValueOf[T]])[] = [];
  for (const { key, value } of contents.values())
    if (key.type === type) out.push([key as KeyOf<T>, value as ValueOf[T]]);
  return out;
}

/** Every resource of one kind. */
export function resourcesOf(contents: Contents, kind: ResourceKind): (readonly [ResourceKey, Resource])[] {
  return entriesOf(contents, "Resource").filter(([key]) => key.kind === kind);
}

/** What the model judges for: a host ("*": all of them at once) and how its graph is set. */
export interface View {
  readonly contents: Contents;
  readonly hostname: string;
  readonly config: CalcGraphConfig;
}

export function isLocal(view: View, hostname: string): boolean {
  return view.hostname === "*" || view.hostname === hostname;
}
