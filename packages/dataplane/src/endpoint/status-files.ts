import { messageOf } from "@bulrush/base";
import type { WorkloadEndpointID } from "@bulrush/proto";
import type { HostFiles } from "../file/host-files.ts";
import type { LocalWorkload } from "../manager/workload-endpoints.ts";

/** Below the prefix that is configured. */
const DIRECTORY = "endpoint-status";

/** The directory is looked at this often; a failure is tried again after 50 ms, doubling, 5 s at most. */
const CHECK_MS = 10_000;
const RETRY = { firstMs: 50, mostMs: 5000 } as const;

export interface StatusFilesResult {
  readonly failures: readonly string[];
  /** When to call again although nothing changed. */
  readonly againAtMs: number | undefined;
}

/** Which file says that the endpoint is up: "k8s default%2Fpod1 eth0". */
export function statusFileName({ endpoint, orchestrator, workload }: WorkloadEndpointID): string {
  return [orchestrator, workload, endpoint].map(escaped).join(" ");
}

/**
 * A file for each workload endpoint whose policy, routes and settings are in the kernel: what starts pods (a CNI plugin)
 * waits for it. Nothing is written, and nothing left by an earlier life is deleted, before the dataplane is in sync.
 *
 * Invariant: `#written` is what the directory was brought to last, by file name.
 */
export class StatusFiles {
  readonly #directory: string;
  readonly #written = new Map<string, { readonly endpoint: unknown; readonly text: string }>();
  #nextCheckMs = 0;
  #retryMs: number = RETRY.firstMs;

  /** `prefix`: the directory above that of the files. */
  constructor(prefix: string) {
    this.#directory = `${prefix.replace(/\/+$/, "")}/${DIRECTORY}`;
  }

  /**
   * To be called once the dataplane is in sync, with the endpoints that are up. One file that cannot be written, or removed,
   * keeps no other from it. Never throws.
   */
  apply(files: HostFiles, up: Iterable<LocalWorkload>, nowMs: number): StatusFilesResult {
    const wanted = new Map<string, LocalWorkload>();
    for (const workload of up) wanted.set(statusFileName(workload.id), workload);
    const failures: string[] = [];
    const attempt = (step: () => void): void => {
      try {
        step();
      } catch (error) {
        failures.push(`Write endpoint status in ${this.#directory}: ${messageOf(error)}`);
      }
    };
    if (nowMs >= this.#nextCheckMs) attempt(() => this.#check(files, wanted, attempt));
    for (const name of this.#written.keys())
      if (!wanted.has(name))
        attempt(() => {
          files.remove(this.#pathOf(name));
          this.#written.delete(name);
        });
    for (const [name, { endpoint }] of wanted) {
      const written = this.#written.get(name);
      if (written?.endpoint === endpoint) continue;
      attempt(() => {
        const text = statusText(endpoint);
        if (written?.text !== text) files.write(this.#pathOf(name), text);
        this.#written.set(name, { endpoint, text });
      });
    }
    if (failures.length > 0) {
      // What was done is not known: all is compared with what is there at the next call.
      this.#nextCheckMs = nowMs;
      const againAtMs = nowMs + this.#retryMs;
      this.#retryMs = Math.min(RETRY.mostMs, this.#retryMs * 2);
      return { failures, againAtMs };
    }
    this.#retryMs = RETRY.firstMs;
    if (nowMs >= this.#nextCheckMs) this.#nextCheckMs = nowMs + CHECK_MS;
    return { failures, againAtMs: this.#nextCheckMs };
  }

  /** Compares with the directory: what is not wanted goes, what is not as wanted will be written. */
  #check(files: HostFiles, wanted: ReadonlyMap<string, LocalWorkload>, attempt: (step: () => void) => void): void {
    this.#written.clear();
    for (const name of files.list(this.#directory))
      attempt(() => {
        const workload = wanted.get(name);
        if (workload === undefined) {
          files.remove(this.#pathOf(name));
          return;
        }
        const text = files.read(this.#pathOf(name));
        if (text === statusText(workload.endpoint)) this.#written.set(name, { endpoint: workload.endpoint, text });
      });
  }

  #pathOf(name: string): string {
    return `${this.#directory}/${name}`;
  }
}

function statusText({ ipv4_nets, ipv6_nets, local_bgp_peer: peer, mac, name }: LocalWorkload["endpoint"]): string {
  return JSON.stringify({
    ifaceName: name,
    mac,
    ipv4Nets: ipv4_nets,
    ipv6Nets: ipv6_nets,
    bgpPeerName: peer?.bgp_peer_name ?? "",
  });
}

/** As a segment of a URL's path: what has a meaning there is escaped, and so is the blank that joins the parts. */
function escaped(part: string): string {
  // Half a surrogate pair is no text: it stands there as what a file can say of it.
  return encodeURIComponent(part.toWellFormed())
    .replaceAll(/%(?:24|26|2B|3D|3A|40)/g, (code) => decodeURIComponent(code))
    .replaceAll(/[!*'()]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}
