import { setFlagsFromString } from "node:v8";

/**
 * Keeps the part of the heap where new objects are born at its first size (1 MiB): left alone it grows to tens of MiB
 * while a datastore is read, and the process never gives them back. It is collected more often, which costs little, as
 * most of what a Typha allocates is either kept or outside of the heap. Call it before anything is read.
 */
export function keepNurserySmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}
