/** How many calls to the file system wait at once: they take half the CPU of calls one after another. */
export const FILE_CALLS = 32;

/** Runs `work` on each item, in order, at most `width` at a time. Rejects with the first failure; what runs goes on. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      await work(items[index] as T, index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
}
