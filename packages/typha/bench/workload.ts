import assert from "node:assert/strict";
import { formatKey, formatValue, type Key, type Update, type WorkloadEndpoint } from "@bulrush/model";

/** FNV-1a of 64 bits, then mixed: as the reference's workload makes its names. */
function hash(text: string): bigint {
  let h = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) h = BigInt.asUintN(64, (h ^ BigInt(byte)) * 0x100000001b3n);
  h ^= h >> 31n;
  h = BigInt.asUintN(64, h * 0x9e3779b97f4a7c15n);
  return h ^ (h >> 29n);
}

const pad = (value: number, digits: number): string => String(value).padStart(digits, "0");

/** What does not change of endpoint `i`. */
interface Pod {
  readonly key: Key;
  readonly path: string;
  readonly endpoint: Omit<WorkloadEndpoint, "labels">;
  readonly labels: readonly (readonly [string, string])[];
}

function makePod(i: number): Pod {
  const namespace = `team-${pad(i % 200, 3)}`;
  const app = `service-${pad(Math.floor(i / 200) % 50, 3)}`;
  const h = hash(`pod-${i}`).toString(16).padStart(16, "0");
  const replicaSet = h.slice(0, 10);
  const key: Key = {
    type: "WorkloadEndpoint",
    hostname: `node-${pad(Math.floor(i / 30), 5)}`,
    orchestrator: "k8s",
    workload: `${namespace}/${app}-${replicaSet}-${h.slice(11, 16)}`,
    endpoint: "eth0",
  };
  return {
    key,
    path: formatKey(key),
    endpoint: {
      state: "active",
      name: `cali${h.slice(5, 16)}`,
      active_instance_id: "",
      mac: null,
      profile_ids: [`kns.${namespace}`, `ksa.${namespace}.default`],
      ipv4_nets: [`10.${64 + ((i >> 16) & 63)}.${(i >> 8) & 255}.${i & 255}/32`],
      ipv6_nets: null as unknown as readonly string[],
      ports: [{ name: "http", protocol: "TCP", port: 8080 } as never],
      generate_name: `${app}-${replicaSet}-`,
    },
    labels: [
      ["app", app],
      ["pod-template-hash", replicaSet],
      ["projectcalico.org/namespace", namespace],
      ["projectcalico.org/orchestrator", "k8s"],
      ["projectcalico.org/serviceaccount", "default"],
    ],
  };
}

/** The text by which a client tells the tick of an update. */
export function marker(tick: number): string {
  return `t${pad(tick, 9)}`;
}

/** The endpoints of the benches: `keys` of them, and the updates of each tick. */
export class Workload {
  readonly keys: number;
  readonly #pods: readonly Pod[] | undefined;

  /** `isKept`: endpoints are made once, and their memory is kept; else at each use. Default true. */
  constructor(keys: number, { isKept = true }: { readonly isKept?: boolean } = {}) {
    this.keys = keys;
    this.#pods = isKept ? Array.from({ length: keys }, (_, i) => makePod(i)) : undefined;
    checkWorkload();
  }

  update(i: number, tick: number): Update {
    const pod = this.#pods?.[i % this.keys] ?? makePod(i % this.keys);
    const value = {
      ...pod.endpoint,
      labels: new Map([...pod.labels, ["version", marker(tick)]]),
    } as WorkloadEndpoint;
    return {
      key: pod.key,
      path: pod.path,
      value,
      revision: String(1_000_000_000 + tick),
      type: tick === 0 ? "new" : "updated",
    };
  }

  /** The first values of `count` endpoints from `from` on. */
  fill(from: number, count: number): Update[] {
    return Array.from({ length: Math.min(count, this.keys - from) }, (_, i) => this.update(from + i, 0));
  }

  /** Tick `t` (from 1) changes `perTick` endpoints. */
  tick(t: number, perTick: number): Update[] {
    return Array.from({ length: perTick }, (_, j) => this.update(t * perTick + j, t));
  }

  /** Tick `t` of every 25th key: nothing that was encoded for a snapshot can be handed out any more. */
  touch(t: number): Update[] {
    return Array.from({ length: Math.ceil(this.keys / 25) }, (_, j) => this.update(j * 25, t));
  }
}

/** The reference's example, field by field: no time is worth anything if the workload is another. */
function checkWorkload(): void {
  const pod = makePod(777);
  const value = { ...pod.endpoint, labels: new Map([...pod.labels, ["version", marker(0)]]) } as WorkloadEndpoint;
  assert.deepEqual(JSON.parse(formatValue(value)), {
    state: "active",
    name: "calif6e5be78e95",
    active_instance_id: "",
    mac: null,
    profile_ids: ["kns.team-177", "ksa.team-177.default"],
    ipv4_nets: ["10.64.3.9/32"],
    ipv6_nets: null,
    labels: {
      app: "service-003",
      "pod-template-hash": "37715f6e5b",
      "projectcalico.org/namespace": "team-177",
      "projectcalico.org/orchestrator": "k8s",
      "projectcalico.org/serviceaccount": "default",
      version: "t000000000",
    },
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
    generate_name: "service-003-37715f6e5b-",
  });
  assert.equal(pod.path.length, 93);
}
