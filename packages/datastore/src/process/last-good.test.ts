/** What was read well once and cannot be read now: which keys stay as they were, also when everything is listed anew. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource, Update } from "@bulrush/model";
import type { ItemIssue } from "../driver/item-issue.ts";
import type { DatastoreKind } from "../driver/kind.ts";
import { KnownKeys } from "../syncer/known-keys.ts";
import { processSafely } from "./processor.ts";
import { processorOf } from "./table.ts";

interface Parts {
  readonly spec?: unknown;
  readonly metadata?: object;
}

/** An item that is there and of which nothing can be read. */
const UNREADABLE = "unreadable";

type State = Parts | typeof UNREADABLE | undefined;

const ISSUE: ItemIssue = { severity: "error", field: "spec", message: "Nested too deep" };

/** A processor and what its consumer has, as a watcher cache drives them. */
class Followed {
  readonly kind: DatastoreKind;
  readonly name: string;
  readonly namespace: string;
  readonly #processor;
  readonly #known = new KnownKeys();
  #revision = 0;
  /** The paths for which the last event sent a value. */
  sent: readonly string[] = [];

  constructor(kind: DatastoreKind, name: string, namespace: string) {
    this.kind = kind;
    this.name = name;
    this.namespace = namespace;
    this.#processor = processorOf(kind, { usePodCIDR: false, nodeName: "" });
  }

  /** `undefined`: gone. Gives the paths that were deleted. */
  event(state: State): readonly string[] {
    const revision = String(++this.#revision);
    const { kind, name, namespace } = this;
    const value: Resource | undefined =
      state === undefined || state === UNREADABLE
        ? undefined
        : {
            apiVersion: "projectcalico.org/v3",
            kind,
            metadata: { name, namespace, ...state.metadata },
            spec: state.spec,
          };
    const item = { kind, name, namespace };
    const issues = state === UNREADABLE ? { issues: [ISSUE] } : {};
    const { outputs, isClosedForm } = processSafely(this.#processor, { item, value, revision, ...issues });
    const applied = outputs.map((output) => this.#known.apply(output, revision, isClosedForm));
    this.sent = applied.flatMap((one) => (typeof one === "object" && one.value !== undefined ? [one.path] : []));
    return applied.flatMap(deleted);
  }

  /** A full list that has the item in this state. */
  list(state: State): readonly string[] {
    this.#processor.onSyncerStarting();
    this.#known.startResync();
    const gone = this.event(state);
    return [...gone, ...this.#known.finishResync(String(this.#revision)).flatMap(deleted)];
  }

  get keys(): number {
    return this.#known.size;
  }
}

function deleted(applied: Update | "kept" | undefined): string[] {
  return typeof applied === "object" && applied.value === undefined ? [applied.path] : [];
}

const POOL = { cidr: "10.0.0.0/16" };
const HOST = { node: "n", interfaceName: "eth0" };

/** Kind, name, namespace, what is right, and what is wrong with it then. */
const KEPT: readonly (readonly [DatastoreKind, string, string, Parts, readonly State[]])[] = [
  [
    "NetworkSet",
    "s",
    "ns",
    { spec: { nets: ["10.0.0.0/8"] } },
    [
      UNREADABLE,
      { spec: { nets: ["x"] } },
      { spec: { nets: 7 } },
      { spec: { net: ["10.0.0.0/8"] } },
      { spec: "10.0.0.0/8" },
    ],
  ],
  ["GlobalNetworkSet", "s", "", { spec: { nets: ["10.0.0.0/8"] } }, [UNREADABLE, { spec: { nets: [null] } }]],
  [
    "IPPool",
    "p",
    "",
    { spec: POOL },
    [
      UNREADABLE,
      { spec: "all" },
      { spec: {} },
      { spec: { ...POOL, ipipMode: "constructor" } },
      { spec: { ...POOL, vxlanMode: 5 } },
      { spec: { ...POOL, disabled: "yes" } },
      { spec: { ...POOL, natOutgoing: 1 } },
      { spec: { ...POOL, allowedUses: "Tunnel" } },
      { spec: { ...POOL, assignmentMode: "Auto" } },
    ],
  ],
  [
    "HostEndpoint",
    "h",
    "",
    { spec: { ...HOST, expectedIPs: ["10.0.0.1"], ports: [{ name: "ssh", protocol: "TCP", port: 22 }] } },
    [
      UNREADABLE,
      { spec: { ...HOST, expectedIPs: ["here"] } },
      { spec: { ...HOST, expectedIPs: "10.0.0.1" } },
      { spec: { ...HOST, expectedIPs: ["10.0.0.1"], ports: [{ name: "ssh", protocol: "TCP", port: 0 }] } },
      { spec: {} },
      { spec: { node: "n", interface: "eth0" } },
      { spec: { node: "n", expectedIPs: ["here"] } },
      { spec: { ...HOST, interfaceName: 5 } },
      { spec: { ...HOST, interfaceName: "x".repeat(16) } },
    ],
  ],
  [
    "Profile",
    "p",
    "",
    { spec: { labelsToApply: { a: "b" } } },
    [UNREADABLE, { spec: { ingress: [{ action: "Permit" }] } }],
  ],
  [
    "FelixConfiguration",
    "default",
    "",
    { spec: { logSeverityScreen: "Info" } },
    [UNREADABLE, { spec: 5 }, { spec: { logSeverityScreen: {} } }],
  ],
  ["FelixConfiguration", "node.n", "", { spec: { ipipMTU: 1400 } }, [UNREADABLE, { spec: { ipipMTU: "x" } }]],
  [
    "FelixConfiguration",
    "rack-1",
    "",
    { spec: { nodeSelector: "has(a)" } },
    [UNREADABLE, { spec: { nodeSelector: "(" } }, { spec: { nodeSelector: "has(a)", failsafeInboundHostPorts: 5 } }],
  ],
  [
    "ClusterInformation",
    "default",
    "",
    { spec: { datastoreReady: true } },
    [UNREADABLE, { spec: [] }, { spec: { datastoreReady: "yes" } }],
  ],
  ["NetworkPolicy", "p", "ns", { spec: { selector: "has(a)" } }, [UNREADABLE, { spec: { selector: "(" } }]],
  ["Tier", "t", "", { spec: { order: 1 } }, [UNREADABLE, { spec: { order: "1" } }]],
];

for (const [kind, name, namespace, good, states] of KEPT) {
  for (const bad of states) {
    test(`${kind} ${name} stays as it was while it is ${JSON.stringify(bad)}`, () => {
      const followed = new Followed(kind, name, namespace);
      assert.deepEqual(followed.event(good), []);
      const { keys } = followed;
      assert.ok(keys > 0);
      assert.deepEqual(followed.event(bad), []);
      assert.ok(kind === "FelixConfiguration" || followed.sent.length === 0, "Nothing is sent in its place");
      assert.deepEqual(followed.list(bad), [], "A full list");
      assert.deepEqual(followed.list(bad), [], "Another one");
      assert.equal(followed.keys, keys);
      assert.equal(followed.list(good).length, 0);
      assert.equal(followed.event(undefined).length, keys);
    });
  }
}

/** Kinds of which an unreadable version is none. */
const REMOVED: readonly (readonly [DatastoreKind, string, string, Parts, State])[] = [
  [
    "WorkloadEndpoint",
    "n-k8s-p-eth0",
    "ns",
    { spec: { interfaceName: "cali1", ipNetworks: ["10.0.0.1/32"] } },
    { spec: { interfaceName: "cali1", ipNetworks: ["10.0.0.0/24"] } },
  ],
  ["BGPPeer", "b", "", { spec: { peerIP: "10.0.0.1" } }, { spec: { peerIP: "x" } }],
  ["CalicoNodeStatus", "c", "", { spec: { node: "n" } }, UNREADABLE],
];

for (const [kind, name, namespace, good, bad] of REMOVED) {
  test(`${kind} is none while it cannot be read`, () => {
    const followed = new Followed(kind, name, namespace);
    followed.event(good);
    assert.equal(followed.keys, 1);
    assert.equal(followed.event(bad).length, 1);
  });
}

test("a pool that cannot be read any more gives its key to the next, also after a full list", () => {
  const processor = processorOf("IPPool", { usePodCIDR: false, nodeName: "" });
  const run = (name: string, spec: unknown) =>
    processSafely(processor, {
      item: { kind: "IPPool", namespace: "", name },
      value: { apiVersion: "projectcalico.org/v3", kind: "IPPool", metadata: { name }, spec },
      revision: "1",
    }).outputs.map(({ origin, isUnreadable = false }) => [origin?.name, isUnreadable]);
  assert.deepEqual(run("a", POOL), [["a", false]]);
  assert.deepEqual(run("b", POOL), []);
  assert.deepEqual(run("a", {}), [["b", false]]);
  processor.onSyncerStarting();
  assert.deepEqual(run("a", {}), [[undefined, true]]);
  assert.deepEqual(run("b", POOL), [["b", false]]);
});
