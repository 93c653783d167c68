import { compareStrings } from "@bulrush/base";
import type { Resource } from "@bulrush/model";
import { resourceIdOf } from "../../driver/apply.ts";
import type { ResourceId, ResourceType, StoredListRequest, StoredResource } from "../../driver/writer.ts";
import { builtInResources } from "../../manifest/built-in.ts";
import { formatProblem } from "../../problem.ts";
import type { DirectoryIndex } from "./directory-index.ts";
import { removeFromManifest, renderManifest, replaceInManifest } from "./edit-manifest.ts";
import { newFilePath } from "./new-file-path.ts";
import { changedMeanwhile, type PendingFiles } from "./pending-files.ts";
import { builtInStored, checkKind, checkRevision, errorFor, nameOf, storedOf, writable } from "./stored.ts";

const BUILT_IN_KINDS: ReadonlySet<string> = new Set(["Tier", "Profile", "ClusterInformation", "Namespace"]);

export interface SessionParts {
  readonly index: DirectoryIndex;
  readonly pending: PendingFiles;
  readonly maxFiles: number;
}

/**
 * The operations of a writer, on an index that is fresh. Writes change the index and `pending`; they are done when those
 * files are. Each resolves with the path of its file.
 */
export class WriteSession {
  readonly #index: DirectoryIndex;
  readonly #pending: PendingFiles;
  readonly #maxFiles: number;

  constructor({ index, pending, maxFiles }: SessionParts) {
    this.#index = index;
    this.#pending = pending;
    this.#maxFiles = maxFiles;
  }

  /** @throws DatastoreError DATASTORE_MALFORMED: it is there and cannot be read. */
  get(id: ResourceId): StoredResource | undefined {
    checkKind(id);
    const standing = this.#index.find(id);
    if (standing === undefined)
      return this.#builtIn(id).find(({ resource }) => resourceIdOf(resource).name === id.name);
    if (standing.entry !== undefined) return storedOf(standing.entry);
    const message = `${formatProblem(standing.problem)}; mend it, or delete it first`;
    throw errorFor(id, "DATASTORE_MALFORMED", message);
  }

  list(request: StoredListRequest): readonly StoredResource[] {
    checkKind(request);
    const { onUnreadable } = request;
    if (onUnreadable !== undefined)
      for (const problem of this.#index.unreadable(request)) onUnreadable(formatProblem(problem));
    const stored = [...this.#index.entries()]
      .filter(({ resource }) => {
        const { apiVersion, kind, namespace } = resourceIdOf(resource);
        const isHere = request.namespace === undefined || request.namespace === namespace;
        return apiVersion === request.apiVersion && kind === request.kind && isHere;
      })
      .map(storedOf);
    return [...stored, ...this.#builtIn(request)].sort(compareStored);
  }

  async create(resource: Resource): Promise<string> {
    const id = resourceIdOf(resource);
    checkKind(id);
    const standing = this.#index.find(id);
    if (standing !== undefined)
      throw errorFor(id, "DATASTORE_ALREADY_EXISTS", `${nameOf(id)} is in "${standing.path}" already`);
    if (this.#index.fileCount >= this.#maxFiles)
      throw errorFor(id, "DATASTORE_INVALID", `The directory has ${this.#maxFiles} files: no more are read`);
    for (let turn = 1; ; turn++) {
      const path = newFilePath(id, turn);
      if ((await this.#pending.read(path)) !== undefined) continue;
      return this.#put(path, renderManifest(writable(resource, undefined)));
    }
  }

  async update(resource: Resource, revision: string): Promise<string> {
    const id = resourceIdOf(resource);
    const known = this.get(id);
    if (known === undefined) throw errorFor(id, "DATASTORE_NOT_FOUND", `${nameOf(id)} is not there`);
    checkRevision(id, known, revision);
    if (known.source === undefined) return this.create(resource);
    const { file } = known.source;
    const text = await this.#textOf(file);
    return this.#put(file, replaceInManifest(text, id, writable(resource, known.resource), file));
  }

  async remove(id: ResourceId, revision: string | undefined): Promise<string> {
    checkKind(id);
    const standing = this.#index.find(id);
    if (standing === undefined) {
      const isBuiltIn = this.get(id) !== undefined;
      throw errorFor(id, "DATASTORE_NOT_FOUND", `${nameOf(id)} is ${isBuiltIn ? "built in" : "not there"}`);
    }
    if (revision !== undefined) {
      const known = this.get(id);
      if (known !== undefined) checkRevision(id, known, revision);
    }
    const text = await this.#textOf(standing.path);
    return this.#put(standing.path, removeFromManifest(text, id, standing.path));
  }

  /** The text that the index was made from: a revision that was compared must be the one that is replaced. */
  async #textOf(path: string): Promise<string> {
    const text = await this.#pending.read(path);
    if (text !== undefined && this.#pending.stampOf(path) === this.#index.stampOf(path)) return text;
    throw changedMeanwhile(path);
  }

  async #put(path: string, text: string | undefined): Promise<string> {
    await this.#pending.set(path, text);
    this.#index.setText(path, text, this.#pending.stampOf(path));
    return path;
  }

  #builtIn({ apiVersion, kind }: ResourceType): readonly StoredResource[] {
    if (!BUILT_IN_KINDS.has(kind)) return [];
    const present = [...this.#index.entries()].map(({ resource }) => resource);
    return builtInResources(present)
      .filter((resource) => resource.apiVersion === apiVersion && resource.kind === kind)
      .map(builtInStored);
  }
}

function compareStored({ resource: a }: StoredResource, { resource: b }: StoredResource): number {
  return (
    compareStrings(a.metadata.namespace ?? "", b.metadata.namespace ?? "") ||
    compareStrings(a.metadata.name, b.metadata.name)
  );
}
