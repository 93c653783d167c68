import { type BigIntStats, promises as fs } from "node:fs";
import { basename, dirname, relative } from "node:path";
import { hasCode } from "@bulrush/base";
import { compareBytes } from "./compare-bytes.ts";
import { FILE_CALLS, inParallel } from "./in-parallel.ts";
import { type FoundFile, type FoundFiles, isManifestName, stampOf } from "./list-files.ts";

/**
 * What is known of a directory, after a look at some files of it only: of ten thousand files one that changed costs one
 * look. Undefined where only a whole listing can tell: directories came, went or may have, or files that nobody knew.
 *
 * @param hinted Absolute, below directories of `found`: something happened there.
 * @param others As well, and they may have gone before.
 */
export async function lookAgain(
  root: string,
  found: FoundFiles,
  hinted: ReadonlySet<string>,
  others: Iterable<string>,
): Promise<FoundFiles | undefined> {
  if (found.unreadable.length > 0 || found.problems.length > 0) return undefined;
  const known = new Map(found.files.map((file) => [file.absolute, file]));
  const looks = new Map<string, BigIntStats | undefined>();
  let isWhole = true;
  await inParallel([...new Set([...hinted, ...others])], FILE_CALLS, async (path) => {
    const stat = await fs.stat(path, { bigint: true }).catch((error: unknown) => {
      if (!hasCode(error, "ENOENT")) isWhole = false;
      return undefined;
    });
    looks.set(path, stat);
  });
  const added: FoundFile[] = [];
  for (const [absolute, stat] of looks) {
    const isManifest = isManifestName(basename(absolute)) && found.directories.has(dirname(absolute));
    if (found.directories.has(absolute) || stat?.isDirectory() === true) isWhole = false;
    else if (stat === undefined) isWhole &&= known.delete(absolute) || !hinted.has(absolute);
    else if (stat.isFile() && isManifest) {
      const path = relative(root, absolute);
      const file = { path, absolute, stamp: stampOf(stat), bytes: Number(stat.size) };
      if (!known.has(absolute)) added.push(file);
      known.set(absolute, file);
    } else if (known.has(absolute)) isWhole = false;
  }
  if (!isWhole) return undefined;
  const files = [...known.values()];
  // A change keeps its place; only what is new has to find one.
  if (added.length > 0) files.sort((a, b) => compareBytes(a.path, b.path));
  return { ...found, files };
}
