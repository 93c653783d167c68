import { messageOf } from "@bulrush/base";
import type { Sysctls } from "../kernel/kernel.ts";

/** What is to be done about the threads of a device. */
export type ThreadingPlan =
  | { readonly kind: "as-wanted" }
  | { readonly kind: "write"; readonly path: string; readonly value: "0" | "1" }
  | { readonly kind: "cannot"; readonly why: string };

const AS_WANTED: ThreadingPlan = { kind: "as-wanted" };

/**
 * Threaded NAPI: the kernel handles packets of the device in threads of their own, on all cores, not where they come in
 * (Documentation/networking/napi.rst of Linux). A device without peers has nothing to make threads for, and refuses to
 * (EOPNOTSUPP); peers that come later follow the device. `settings`: of interfaces; absent where there are none.
 */
export function planThreading(
  device: string,
  isWanted: boolean,
  hasPeers: boolean,
  settings: Sysctls | undefined,
): ThreadingPlan {
  if (!hasPeers) return AS_WANTED;
  const path = `${device}/threaded`;
  const value = isWanted ? "1" : "0";
  let current: string | undefined;
  try {
    current = settings?.read(path);
  } catch (error) {
    return { kind: "cannot", why: messageOf(error) };
  }
  if (current === undefined) return isWanted ? { kind: "cannot", why: "this kernel has none (Linux 5.12)" } : AS_WANTED;
  return current === value ? AS_WANTED : { kind: "write", path, value };
}
