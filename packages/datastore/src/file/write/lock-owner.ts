import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { isObject } from "@bulrush/model";

/** Who holds a lock: enough to tell later whether that process still lives. */
export interface LockOwner {
  readonly pid: number;
  /** When the process started, in clock ticks after boot: a pid is used again, the pair is not. "" if not known. */
  readonly startTime: string;
  /** Which boot of the machine it belongs to. "" if not known. */
  readonly bootId: string;
  readonly host: string;
  /** The pid namespace: pids of another one say nothing here. "" if not known. */
  readonly pidNamespace: string;
  /** Different for each taking of the lock. */
  readonly token: string;
}

/** This process as an owner. */
export function thisOwner(token: string): LockOwner {
  return {
    pid: process.pid,
    startTime: startTimeOf(process.pid) ?? "",
    bootId: textOf("/proc/sys/kernel/random/boot_id"),
    host: hostname(),
    pidNamespace: pidNamespace(),
    token,
  };
}

/** The owner that a lock file names, or undefined if it does not. */
export function parseOwner(text: string): LockOwner | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return undefined;
    const { pid, startTime, bootId, host, pidNamespace: namespace, token } = value;
    if (typeof pid !== "number" || typeof token !== "string") return undefined;
    const text_ = (field: unknown): string => (typeof field === "string" ? field : "");
    return {
      pid,
      startTime: text_(startTime),
      bootId: text_(bootId),
      host: text_(host),
      pidNamespace: text_(namespace),
      token,
    };
  } catch {
    return undefined;
  }
}

/**
 * What can be said of an owner from `here`. A process of this machine and pid namespace can be looked up; one of an
 * earlier boot is gone; of any other (a container, another machine on a shared file system) nothing is known.
 */
function ownerState(owner: LockOwner, here: LockOwner): "alive" | "gone" | "unknown" {
  if (owner.host !== here.host) return "unknown";
  if (owner.bootId !== here.bootId) return "gone";
  if (owner.pidNamespace !== here.pidNamespace) return "unknown";
  const startTime = startTimeOf(owner.pid);
  if (startTime === undefined) return isRunning(owner.pid) ? "alive" : "gone";
  return owner.startTime === "" || owner.startTime === startTime ? "alive" : "gone";
}

/** An owner of whom nothing is known counts as gone after so long. A lock is held for seconds at most. */
const UNKNOWN_MAX_AGE_MS = 60_000;

/** Whether an owner (undefined: it cannot be read) from so long ago is gone for good. */
export function isGone(owner: LockOwner | undefined, here: LockOwner, ageMs: number): boolean {
  const state = owner === undefined ? "unknown" : ownerState(owner, here);
  return state === "gone" || (state === "unknown" && ageMs > UNKNOWN_MAX_AGE_MS);
}

/** Field 22 of /proc/PID/stat (proc_pid_stat(5)); the name before it may hold spaces and parentheses. */
function startTimeOf(pid: number): string | undefined {
  const stat = textOf(`/proc/${pid}/stat`);
  return stat === "" ? undefined : stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there, and somebody else's.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}
