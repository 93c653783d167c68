import { isObject, type JsonObject } from "@bulrush/model";
import { DatastoreError } from "../../errors.ts";
import { JsonFilter } from "../../json/json-filter.ts";
import { ALL, type Shape } from "../../json/shape.ts";
import { bodyChunks } from "../client/body.ts";
import type { KubeClient } from "../client/kube-client.ts";
import { ListScanner } from "./list-scanner.ts";
import { listOf } from "./needed-fields.ts";
import { type ListPlace, pathOf } from "./source.ts";

/** Objects a request asks for; a server that has the whole list in memory may send all of it. */
const PAGE_LIMIT = "500";

export interface RawPage {
  readonly objects: readonly unknown[];
  /** Of the whole list; "" on all pages but the last. */
  readonly revision: string;
}

export interface SourceListRequest {
  readonly selection: ListPlace;
  /** "": the newest state, which the server looks up. "0": any recent one. Otherwise one not older than this. */
  readonly revision: string;
  readonly signal: AbortSignal;
  /** False: the whole list in one answer. */
  readonly isPaged: boolean;
  /** The parts of each object that the caller reads. Default all of it. */
  readonly needs?: Shape;
}

/** What is asked of a selection, for messages: "List pods". */
export function opOf(verb: string, { source, namespace, name }: ListPlace): string {
  const place = [namespace, name].filter((part) => part !== undefined).join("/");
  return `${verb} ${source.plural}${place === "" ? "" : ` ${place}`}`;
}

/** The parameters that narrow a list or watch to one object. */
export function narrowing({ name }: ListPlace): Readonly<Record<string, string | undefined>> {
  return { fieldSelector: name === undefined ? undefined : `metadata.name=${name}` };
}

/**
 * The objects of one list, in pages as they come in. Throws DATASTORE_EXPIRED when the server has forgotten, between
 * two pages, the state that it was listing: what came before must not be trusted then.
 */
export async function* listSource(
  client: KubeClient,
  request: SourceListRequest,
): AsyncGenerator<RawPage, void, undefined> {
  const { selection, revision, signal, isPaged, needs = ALL } = request;
  const { source } = selection;
  const op = opOf("List", selection);
  let next = "";
  do {
    const answer = await client.open({
      op,
      path: pathOf(source, selection.namespace),
      query: {
        ...narrowing(selection),
        limit: isPaged ? PAGE_LIMIT : undefined,
        // A continuation says itself which state it means.
        ...(next !== "" ? { continue: next } : revision === "" ? {} : notOlderThan(revision)),
      },
      isUnlimited: next !== "",
      signal,
    });
    const filter = new JsonFilter({ shape: listOf(needs), isLines: false });
    const scanner = new ListScanner(op);
    for await (const chunk of bodyChunks(client, { answer, op, signal })) {
      for (const objects of scanner.push(filter.push(chunk))) yield { objects, revision: "" };
    }
    const metadata = metadataOf(scanner.finish(), op);
    next = typeof metadata["continue"] === "string" ? metadata["continue"] : "";
    const reached = metadata["resourceVersion"];
    if (next === "") yield { objects: [], revision: typeof reached === "string" ? reached : "" };
  } while (next !== "");
}

function notOlderThan(revision: string): Readonly<Record<string, string>> {
  return { resourceVersion: revision, resourceVersionMatch: "NotOlderThan" };
}

function metadataOf(list: JsonObject, op: string): JsonObject {
  const { metadata, items } = list;
  // What was in it has been given out; null is an empty list too.
  const isList = Array.isArray(items) ? items.length === 0 : items === null;
  if (isObject(metadata) && isList) return metadata;
  throw new DatastoreError(`${op}: the answer is no list`, { code: "DATASTORE_MALFORMED", op });
}
