import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { ManualClock } from "@bulrush/base";
import type { DatastoreDriver, Item, WatchStream } from "../../driver/driver.ts";
import type { DatastoreKind } from "../../driver/kind.ts";
import { datastoreCodeOf } from "../../errors.ts";
import type { Problem } from "../../problem.ts";
import { KubernetesDriver } from "../driver/kubernetes-driver.ts";
import type { KubernetesDatastoreConfig } from "../kubernetes-config.ts";
import { FakeApiServer, type SeenRequest } from "./fake-api-server.ts";
import type { StoredObject } from "./fake-objects.ts";

export interface DriverFixture {
  readonly server: FakeApiServer;
  readonly driver: DatastoreDriver;
  readonly clock: ManualClock;
  /** Messages that were logged, oldest first. */
  readonly logged: string[];
  readonly problems: () => readonly Problem[];
}

/** A fake API server and a driver on it whose time stands still. Both end with the test. */
export async function driverFixture(
  t: TestContext,
  config: Partial<KubernetesDatastoreConfig> = {},
): Promise<DriverFixture> {
  const server = new FakeApiServer();
  await server.start();
  const clock = new ManualClock(1_000_000);
  const logged: string[] = [];
  const log = (message: string): void => {
    logged.push(message);
  };
  const driver = await KubernetesDriver.open(
    { type: "kubernetes", kubeconfigInline: server.kubeconfig(), ...config },
    { clock, random: () => 0, logger: { debug: log, info: log, warn: log, error: log } },
  );
  t.after(async () => {
    await driver.close();
    await server.stop();
  });
  return { server, driver, clock, logged, problems: () => driver.problems() };
}

/** Waits, in real time, until something is so: bytes between two ends of a connection take as long as they take. */
export async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const startMs = performance.now(); !isSo(); ) {
    if (performance.now() - startMs > 30_000) assert.fail(`Not so after 30 s: ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export interface Listed {
  readonly items: readonly Item[];
  readonly revision: string;
  readonly missing: string | undefined;
  readonly pages: number;
}

/** Reads a whole list. */
export async function listAll(
  driver: DatastoreDriver,
  kind: DatastoreKind,
  { revision = "0", signal = new AbortController().signal }: { revision?: string; signal?: AbortSignal } = {},
): Promise<Listed> {
  const items: Item[] = [];
  let last = { revision: "", missing: undefined as string | undefined };
  let pages = 0;
  for await (const page of driver.list({ kind, revision, signal })) {
    items.push(...page.items);
    last = { revision: page.revision, missing: page.missing };
    pages++;
  }
  return { items, pages, ...last };
}

/** The code of the error that a promise rejects with. */
export function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "no error",
    (error: unknown) => datastoreCodeOf(error),
  );
}

/** All events of a stream, in words, as they come: `added a`, `bookmark 7`, `error CODE`, `end`. */
export function follow(stream: WatchStream): string[] {
  const seen: string[] = [];
  void (async () => {
    for (let events = await stream.next(); events !== undefined; events = await stream.next()) {
      for (const event of events) {
        if (event.type === "error") seen.push(`error ${datastoreCodeOf(event.error)}`);
        else if (event.type === "bookmark") seen.push(`bookmark ${event.revision}`);
        else seen.push(`${event.type} ${event.item?.name ?? "?"}`);
      }
    }
    seen.push("end");
  })();
  return seen;
}

/** What was asked of a list, in short: `list limit=500 resourceVersion=0`. */
export function asked(requests: readonly SeenRequest[], root: string): string[] {
  return requests
    .filter(({ path }) => path === root)
    .map(({ query }) => {
      const verb = query.get("watch") === "true" ? "watch" : "list";
      const kept = ["limit", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "fieldSelector"];
      const parts = kept.filter((name) => query.has(name)).map((name) => `${name}=${query.get(name) ?? ""}`);
      return [verb, ...parts, ...(query.has("continue") ? ["continue"] : [])].join(" ");
    });
}

export function tier(name: string): StoredObject {
  return { apiVersion: "crd.projectcalico.org/v1", kind: "Tier", metadata: { name }, spec: { order: 5 } };
}

/** Where the tiers are. */
export const TIERS = "/apis/crd.projectcalico.org/v1/tiers";

export const SERVICES = "/api/v1/services";

export function service(name: string): StoredObject {
  return { apiVersion: "v1", kind: "Service", metadata: { name, namespace: "n" }, spec: { clusterIP: "None" } };
}
