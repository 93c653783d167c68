import { createRequire } from "node:module";
import type * as Koffi from "koffi";

/** The few C functions that Node.js does not offer. Each returns -1 on failure; then `errno()` says why. */
export interface Native {
  socket(domain: number, type: number, protocol: number): number;
  bind(fd: number, address: Uint8Array, length: number): number;
  setsockopt(fd: number, level: number, option: number, value: Uint8Array, length: number): number;
  /** setsockopt() of a `struct sock_fprog`: `filter` has 8 bytes for each instruction. */
  setFilter(fd: number, level: number, option: number, program: FilterProgram, length: number): number;
  getsockopt(fd: number, level: number, option: number, value: Uint8Array, length: Uint8Array): number;
  recv(fd: number, buffer: Uint8Array, length: number, flags: number): number;
  setns(fd: number, type: number): number;
  /** Of the last call above on this thread. */
  errno(): number;
}

/** linux/filter.h: `struct sock_fprog`. */
interface FilterProgram {
  readonly len: number;
  readonly filter: Uint8Array;
}

let loaded: Native | undefined;

/**
 * Binds the functions at the first call, not at import: what only prints rulesets never loads native code.
 * 0.45 us a call.
 */
export function native(): Native {
  if (loaded !== undefined) return loaded;
  const koffi = createRequire(import.meta.url)("koffi") as typeof Koffi;
  const libc = koffi.load(null);
  koffi.struct("sock_fprog", { len: "uint16_t", filter: "void *" });
  loaded = {
    socket: libc.func("int socket(int, int, int)") as Native["socket"],
    bind: libc.func("int bind(int, const void *, uint32_t)") as Native["bind"],
    setsockopt: libc.func("int setsockopt(int, int, int, const void *, uint32_t)") as Native["setsockopt"],
    setFilter: libc.func("int setsockopt(int, int, int, const sock_fprog *, uint32_t)") as Native["setFilter"],
    getsockopt: libc.func("int getsockopt(int, int, int, void *, void *)") as Native["getsockopt"],
    recv: libc.func("int64_t recv(int, void *, uint64_t, int)") as unknown as Native["recv"],
    setns: libc.func("int setns(int, int)") as Native["setns"],
    errno: () => koffi.errno(),
  };
  return loaded;
}
