import assert from "node:assert/strict";
import { systemClock } from "@bulrush/base";
import {
  type DatastoreDriver,
  datastoreCodeOf,
  type DatastoreKind,
  type DatastoreWriter,
  type EtcdDatastoreConfig,
  type Item,
  openDatastore,
  openDatastoreWriter,
  type WatchEvent,
  type WatchStream,
} from "@bulrush/datastore";
import type { Resource } from "@bulrush/model";

const LIMIT_MS = 20_000;
const context = { clock: systemClock({ keepAlive: true }) };

/** For one step of a test. */
export function soon(): AbortSignal {
  return AbortSignal.timeout(LIMIT_MS);
}

type Settings = Omit<EtcdDatastoreConfig, "type">;

export function openDriver(settings: Settings): Promise<DatastoreDriver> {
  return openDatastore({ type: "etcdv3", ...settings }, context);
}

export function openWriter(settings: Settings): Promise<DatastoreWriter> {
  return openDatastoreWriter({ type: "etcdv3", ...settings }, context);
}

/** A whole list. */
export async function listAll(
  driver: DatastoreDriver,
  kind: DatastoreKind,
  request: { readonly name?: string; readonly namespace?: string } = {},
): Promise<{ readonly items: Item[]; readonly revision: string; readonly pages: number }> {
  const items: Item[] = [];
  let revision = "";
  let pages = 0;
  for await (const page of driver.list({ kind, revision: "0", signal: soon(), ...request })) {
    items.push(...page.items);
    ({ revision } = page);
    pages++;
  }
  return { items, revision, pages };
}

export function watchFrom(
  driver: DatastoreDriver,
  kind: DatastoreKind,
  revision: string,
  request: { readonly name?: string; readonly namespace?: string } = {},
): Promise<WatchStream> {
  return driver.watch({ kind, revision, signal: soon(), ...request });
}

function shown(event: WatchEvent): string {
  switch (event.type) {
    case "error":
      return `error ${datastoreCodeOf(event.error)}`;
    case "bookmark":
      return "bookmark";
    default:
      return `${event.type} ${event.item?.namespace === "" ? "" : `${event.item?.namespace}/`}${event.item?.name}`;
  }
}

/** The next `count` events, without bookmarks, in short form. */
export async function changes(stream: WatchStream, count: number): Promise<string[]> {
  const out: string[] = [];
  while (out.length < count) {
    const events = await stream.next();
    assert.ok(events !== undefined, `The watch ended after ${out.join(", ")}`);
    out.push(...events.map(shown).filter((text) => text !== "bookmark"));
  }
  return out;
}

/** The revision of the next bookmark. */
export async function nextBookmark(stream: WatchStream): Promise<string> {
  for (;;) {
    const events = await stream.next();
    assert.ok(events !== undefined, "The watch ended");
    const bookmark = events.find((event) => event.type === "bookmark");
    if (bookmark?.type === "bookmark") return bookmark.revision;
  }
}

export function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "done",
    (error: unknown) => datastoreCodeOf(error),
  );
}

/** A resource of Calico's. */
export function calico(kind: string, name: string, namespace = "", spec: object = {}, labels?: object): Resource {
  const metadata = { name, ...(namespace !== "" && { namespace }), ...(labels !== undefined && { labels }) };
  return { apiVersion: "projectcalico.org/v3", kind, metadata, spec } as Resource;
}

export function set(name: string, net = "10.0.0.0/8"): Resource {
  return calico("GlobalNetworkSet", name, "", { nets: [net] });
}
