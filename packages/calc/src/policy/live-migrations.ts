import { compareStrings } from "@bulrush/base";
import type { Resource, WorkloadEndpointKey } from "@bulrush/model";
import { tryParseSelector } from "@bulrush/selector";
import type { IndexedItem, IndexedSelector } from "../labels/indexed.ts";
import type { LabelKeys } from "../labels/label-set.ts";
import { compileSelector, type MatchNode, matches } from "../labels/match-node.ts";
import type { ComputedData } from "./endpoint-message.ts";

/** Names a workload, or with an endpoint one of its interfaces. */
interface Reference {
  readonly hostname: string;
  readonly orchestrator: string;
  readonly workload: string;
  readonly endpoint: string | undefined;
}

/** What matters of a LiveMigration. */
interface Migration {
  readonly uid: string;
  readonly source: Reference | undefined;
  readonly target: Reference | undefined;
  readonly selector: MatchNode | undefined;
}

/** What a workload is in a migration, the strongest word first. */
const CLAIMS = ["selected", "target", "source"] as const;

/** Labels in which KubeVirt's pods have the name of their virtual machine; versions differ. */
const MACHINE_LABELS = ["vmi.kubevirt.io/id", "vm.kubevirt.io/name"];

/**
 * The migrations of virtual machines that are under way, and what a workload is in them. One that a target's selector
 * picks is a target, whatever else it is; then one that is named as a target; then one that is named as a source. Of
 * several migrations that say the same of it, the one with the greatest UID counts.
 */
export class LiveMigrations {
  readonly #keys: LabelKeys;
  readonly #migrations = new Map<string, Migration>();

  constructor(keys: LabelKeys) {
    this.#keys = keys;
  }

  get size(): number {
    return this.#migrations.size;
  }

  /** Adds, changes or (undefined) removes one. What cannot be read of it is taken as left out. */
  set(path: string, resource: Resource | undefined): void {
    if (resource === undefined) this.#migrations.delete(path);
    else this.#migrations.set(path, this.#read(resource));
  }

  /** Nothing for a workload that is in no migration. */
  dataOf(
    key: WorkloadEndpointKey,
    labels: ReadonlyMap<string, string>,
    item: IndexedItem<IndexedSelector>,
  ): Pick<ComputedData, "live_migration_role" | "live_migration_uid" | "live_migration_vmi_name"> {
    for (const claim of CLAIMS) {
      let uid: string | undefined;
      for (const migration of this.#migrations.values()) {
        if (!isClaimed(migration, claim, key, item)) continue;
        if (uid === undefined || compareStrings(uid, migration.uid) < 0) uid = migration.uid;
      }
      if (uid === undefined) continue;
      const machine = MACHINE_LABELS.map((label) => labels.get(label)).find((name) => name !== undefined);
      return {
        live_migration_role: claim === "source" ? "source" : "target",
        live_migration_uid: uid,
        ...(machine !== undefined && { live_migration_vmi_name: machine }),
      };
    }
    return {};
  }

  #read({ metadata, spec }: Resource): Migration {
    const source = at(spec, "Source");
    const target = at(spec, "Target");
    const text = at(target, "Selector");
    const parsed = typeof text === "string" ? tryParseSelector(text) : undefined;
    return {
      uid: metadata.uid ?? "",
      source: reference(at(source, "Workload"), false) ?? reference(at(source, "WorkloadEndpoint"), true),
      target: reference(at(target, "WorkloadEndpoint"), true),
      selector: parsed?.ok === true ? compileSelector(parsed.selector.root, this.#keys) : undefined,
    };
  }
}

function isClaimed(
  migration: Migration,
  claim: (typeof CLAIMS)[number],
  key: WorkloadEndpointKey,
  item: IndexedItem<IndexedSelector>,
): boolean {
  if (claim === "selected") return migration.selector !== undefined && matches(migration.selector, item);
  const wanted = migration[claim];
  if (wanted === undefined) return false;
  if (wanted.orchestrator !== key.orchestrator || wanted.workload !== key.workload) return false;
  if (wanted.endpoint !== undefined && wanted.endpoint !== key.endpoint) return false;
  // A pod's name is one in its cluster, and its host may not be known yet.
  return wanted.orchestrator === "k8s" || wanted.hostname === key.hostname;
}

function reference(value: unknown, withEndpoint: boolean): Reference | undefined {
  const text = (name: string): string => {
    const field = at(value, name);
    return typeof field === "string" ? field : "";
  };
  const workload = text("WorkloadID");
  if (workload === "") return undefined;
  const endpoint = withEndpoint ? text("EndpointID") : undefined;
  return { hostname: text("Hostname"), orchestrator: text("OrchestratorID"), workload, endpoint };
}

function at(value: unknown, field: string): unknown {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[field] : undefined;
}
