import { messageOf } from "@bulrush/base";
import { applyResource, datastoreCodeOf, type DatastoreWriter, resourceIdOf, saysTheSame } from "@bulrush/datastore";
import { BUILT_IN_TIERS, CALICO_V3, type Resource, validateResource } from "@bulrush/model";
import { inputError } from "../errors.ts";
import { inParallel } from "../store/in-parallel.ts";
import { typeName } from "../store/resource-types.ts";
import { WRITES_AT_ONCE } from "../store/write-order.ts";
import { cannotHold, copyFor, type KindInventory, missingNamespaces, takeInventory } from "./inventory.ts";
import { type Marker, readLock, writeLock } from "./marker.ts";

export interface MigrationOptions {
  readonly source: DatastoreWriter;
  readonly target: DatastoreWriter;
  readonly sourceName: string;
  readonly targetName: string;
  readonly signal: AbortSignal;
  /** A target that holds something: what is in both is replaced, what only it has stays. */
  readonly merge: boolean;
  /** Leave out policies that the target cannot store. */
  readonly skipUnsupported: boolean;
  /** Open the source again at the end. */
  readonly unlockSource: boolean;
  readonly newId: () => string;
  readonly nowMs: number;
  /** A line for people about how far it is. */
  readonly say: (line: string) => Promise<void>;
}

export interface MigrationReport {
  readonly copied: Readonly<Record<string, number>>;
  readonly unchanged: number;
  /** Left out, by kind, and why. */
  readonly skipped: readonly { readonly kind: string; readonly count: number; readonly reason: string }[];
  /** Written, and read back with other contents: the target's server has changed them. */
  readonly different: readonly string[];
}

const STAYS_LOCKED = "both datastores stay locked: run this again to go on, or with --abort to give up";
/** Resources between two lines of progress. */
const SAY_EVERY = 500;
/** Names in one message. */
const MAX_NAMED = 20;

/**
 * Copies everything from one datastore into another while both are closed for use:
 *
 *     look: v1 data? target empty, or ours from before? source readable? valid? storable?   (nothing written)
 *       │
 *       ├─> lock source ─> lock target ─> look again ─> copy kind by kind ─> compare ─> open target ─> leave or open source
 *       │                        │          a failure, a kill: both stay locked
 *       └────────── again <──────┘          the next run finds its marks, and goes on
 *
 * A lock is `datastoreReady: false` in ClusterInformation, with a mark that names the migration. Copying again what is
 * there already writes nothing, so going on costs reads.
 *
 * @throws CtlError CTL_INPUT before anything was written, or with what failed.
 */
export async function migrate(options: MigrationOptions): Promise<MigrationReport> {
  const { source, target, sourceName, targetName, signal, say } = options;
  const sourceLock = await readLock(source, signal);
  const targetLock = await readLock(target, signal);
  const isResumed = checkMarkers(sourceLock.marker, targetLock.marker);
  if (!isResumed && !options.merge) await checkEmpty(target, targetName, signal);
  await look(options, "nothing was written");
  const id = sourceLock.marker?.id ?? options.newId();
  const startedAt = new Date(options.nowMs).toISOString();
  if (sourceLock.spec.datastoreReady === false && sourceLock.marker === undefined)
    await say(`${sourceName} was locked by somebody else already`);
  const marker = (role: Marker["role"], peer: string): Marker => ({ id, role, peer, startedAt });
  await say(`${isResumed ? "Going on" : "Begin"}: ${sourceName} and ${targetName} are locked`);
  await writeLock(source, { datastoreReady: false }, marker("source", targetName), signal);
  await writeLock(target, { datastoreReady: false }, marker("target", sourceName), signal);
  // What was written between the first look and the lock.
  const { held, skipped } = await look(options, STAYS_LOCKED);
  const { copied, unchanged } = await copyAll(held, options, skipped);
  const different = await compare(held, options);
  const { datastoreReady: _, ...spec } = sourceLock.spec;
  await writeLock(target, { ...spec, datastoreReady: true }, undefined, signal);
  await say(`${targetName} is open for use`);
  await writeLock(source, { datastoreReady: options.unlockSource }, undefined, signal);
  if (options.unlockSource) await say(`${sourceName} is open for use again`);
  else await say(`${sourceName} stays locked, so that nobody writes to what is not read any more`);
  return { copied, unchanged, skipped, different };
}

/** Gives a migration up: the source is open again; what was copied stays in the target, which stays locked. */
export async function abortMigration(options: Pick<MigrationOptions, "source" | "signal">): Promise<void> {
  const { marker } = await readLock(options.source, options.signal);
  if (marker?.role !== "source")
    throw inputError("The source says nothing of a migration: there is nothing to give up");
  await writeLock(options.source, { datastoreReady: true }, undefined, options.signal);
}

/** True if the target belongs to a migration of this source that was begun before. */
function checkMarkers(source: Marker | undefined, target: Marker | undefined): boolean {
  if (target === undefined) return false;
  if (target.role === "target" && target.id === source?.id) return true;
  const since = `since ${target.startedAt}`;
  throw inputError(`The target is part of another migration ${since}, with ${target.peer}: finish or give up that one`);
}

async function checkEmpty(target: DatastoreWriter, name: string, signal: AbortSignal): Promise<void> {
  const unreadable = new Set<string>();
  const counts: string[] = [];
  for (const { type, resources } of await takeInventory(target, signal, (what) => unreadable.add(what))) {
    const count = resources.filter((resource) => !isAlwaysThere(resource, target.type)).length;
    if (count > 0) counts.push(`${count} ${typeName(type)}`);
  }
  if (unreadable.size > 0) counts.push(`${unreadable.size} things that cannot be read`);
  if (counts.length === 0) return;
  const way = "--merge replaces what is in both, and keeps what only the target has";
  throw inputError(`${name} is not empty: it has ${counts.join(", ")}; ${way}`);
}

/** What every datastore has, and what a cluster has without Calico. */
function isAlwaysThere(resource: Resource, target: DatastoreWriter["type"]): boolean {
  const { apiVersion, kind, metadata } = resource;
  if (kind === "Tier") return Object.hasOwn(BUILT_IN_TIERS, metadata.name);
  if (copyFor(resource, target) === undefined) return true;
  return target === "kubernetes" && (apiVersion !== CALICO_V3 || kind === "Node");
}

function copiesFor(inventory: readonly KindInventory[], target: DatastoreWriter["type"]): readonly KindInventory[] {
  return inventory
    .map(({ type, resources }) => ({
      type,
      resources: resources.map((resource) => copyFor(resource, target)).filter((copy) => copy !== undefined),
    }))
    .filter(({ resources }) => resources.length > 0);
}

/** What one store took and another refuses would end the copying half-way. */
function checkValid(copies: readonly KindInventory[], state: string): void {
  const bad: string[] = [];
  for (const { type, resources } of copies) {
    for (const resource of resources) {
      // Calico itself gives handles names in etcd that no other kind may have.
      const checked = type.kind === "IPAMHandle" ? copyFor(resource, "kubernetes") : resource;
      const [issue] = validateResource(checked ?? resource);
      if (issue !== undefined) bad.push(`${shown(resource)}: ${issue.path}: ${issue.message}`);
    }
  }
  if (bad.length > 0) throw inputError(`The source holds what is not valid; ${state}:\n${named(bad)}`);
}

interface Sorted {
  readonly held: readonly KindInventory[];
  readonly skipped: Skipped[];
}

type Skipped = MigrationReport["skipped"][number];

/** What is to be copied, of the source as it is now. `state`: what a refusal says of the two datastores. */
async function look(options: MigrationOptions, state: string): Promise<Sorted> {
  const { source, target, targetName, signal } = options;
  const unreadable = new Set<string>();
  const inventory = await takeInventory(source, signal, (what) => unreadable.add(what));
  // A policy that is left out here would be lost in the target, and what it forbids allowed.
  if (unreadable.size > 0)
    throw inputError(`The source holds what cannot be read; ${state}:\n${named([...unreadable])}`);
  const copies = copiesFor(inventory, target.type);
  checkValid(copies, state);
  const sorted = await sortOut(copies, options, state);
  const missing = await missingNamespaces(target, sorted.held, signal);
  if (missing.length > 0)
    throw inputError(`${targetName} has no namespace ${missing.join(", ")}: create it first; ${state}`);
  return sorted;
}

async function sortOut(copies: readonly KindInventory[], options: MigrationOptions, state: string): Promise<Sorted> {
  const held: KindInventory[] = [];
  const skipped: Skipped[] = [];
  const lost: string[] = [];
  for (const kind of copies) {
    const reason = await cannotHold(options.target, kind, options.signal);
    if (reason === undefined) {
      held.push(kind);
      continue;
    }
    const count = kind.resources.length;
    skipped.push({ kind: typeName(kind.type), count, reason });
    if (kind.type.kind.endsWith("NetworkPolicy")) lost.push(`${count} ${typeName(kind.type)} (${reason})`);
  }
  if (lost.length > 0 && !options.skipUnsupported) {
    const message = `Policies would be lost: ${lost.join(", ")}; ${state}`;
    throw inputError(`${message}; --skip-unsupported goes on without them`);
  }
  return { held, skipped };
}

/** Adds to `skipped` the nodes that Kubernetes does not have. */
async function copyAll(
  kinds: readonly KindInventory[],
  { target, signal, say }: MigrationOptions,
  skipped: Skipped[],
): Promise<Pick<MigrationReport, "copied" | "unchanged">> {
  const copied: Record<string, number> = {};
  let unchanged = 0;
  for (const { type, resources } of kinds) {
    const name = typeName(type);
    const failures: string[] = [];
    let done = 0;
    let written = 0;
    let missing = 0;
    await inParallel(resources, WRITES_AT_ONCE, async (resource) => {
      try {
        if ((await applyResource(target, resource, signal)).action === "unchanged") unchanged++;
        else written++;
      } catch (error) {
        if (isNodeOfNobody(resource, target, error)) missing++;
        else failures.push(`${shown(resource)}: ${messageOf(error)}`);
      }
      if (++done % SAY_EVERY === 0) await say(`${name}: ${done} of ${resources.length}`);
    });
    if (failures.length > 0) {
      throw inputError(`${failures.length} ${name} could not be written; ${STAYS_LOCKED}:\n${named(failures)}`);
    }
    if (written > 0) copied[name] = written;
    if (missing > 0) skipped.push({ kind: name, count: missing, reason: "Kubernetes has no such node" });
    await say(`${name}: ${done} of ${resources.length} done, ${written} written`);
  }
  return { copied, unchanged };
}

/** Nodes of Kubernetes are made by Kubernetes. */
function isNodeOfNobody({ kind }: Resource, target: DatastoreWriter, error: unknown): boolean {
  const code = datastoreCodeOf(error);
  const isRefused = code === "DATASTORE_NOT_SUPPORTED" || code === "DATASTORE_NOT_FOUND";
  return kind === "Node" && target.type === "kubernetes" && isRefused;
}

/** Names what was written and reads back otherwise. Throws if something is not there at all. */
async function compare(
  kinds: readonly KindInventory[],
  { target, signal }: MigrationOptions,
): Promise<readonly string[]> {
  const different: string[] = [];
  const missing: string[] = [];
  for (const { type, resources } of kinds) {
    if (type.kind === "Node" && target.type === "kubernetes") continue;
    const present = new Map<string, Resource>();
    for await (const page of target.list(type, signal))
      for (const { resource } of page) present.set(shown(resource), resource);
    for (const resource of resources) {
      const found = present.get(shown(resource));
      if (found === undefined) missing.push(shown(resource));
      else if (!saysTheSame(found, resource)) different.push(shown(resource));
    }
  }
  if (missing.length === 0) return different;
  const message = `${missing.length} resources are not in the target after the copying; both datastores stay locked`;
  throw inputError(`${message}:\n${named(missing)}`);
}

function shown(resource: Resource): string {
  const { kind, namespace, name } = resourceIdOf(resource);
  return `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}

/** A line each, and how many more there are. */
function named(lines: readonly string[]): string {
  const more = lines.length - MAX_NAMED;
  return [...lines.slice(0, MAX_NAMED), ...(more > 0 ? [`and ${more} more`] : [])]
    .map((line) => `  ${line}`)
    .join("\n");
}
