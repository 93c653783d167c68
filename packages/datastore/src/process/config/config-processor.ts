import { FELIX_FIELDS, isObject, type Key, type ResourceKind, type Value } from "@bulrush/model";
import type { ItemIssue } from "../../driver/item-issue.ts";
import { errorAt } from "../issue.ts";
import { isUnreadable, processed, type ProcessedKV, type ProcessorInput, type UpdateProcessor } from "../processor.ts";
import { Remembered } from "../remembered.ts";
import { capitalise, parameterName } from "./field-name.ts";
import { fieldText } from "./field-value.ts";

const ANNOTATION_PREFIX = "config.projectcalico.org/";
/** Of how many resources the keys are remembered: one a host, and `default`. */
const MAX_REMEMBERED = 20_000;
const PARAMETER_NAME = /^[A-Za-z0-9_.-]+$/;

interface ConfigKind {
  /** The parameter of a field; undefined for one that makes none. */
  readonly parameterOf: (field: string) => string | undefined;
  /** Annotations override fields and add parameters. */
  readonly readsAnnotations: boolean;
  /** What becomes of a resource that is neither `default` nor `node.<host>`. */
  readonly rest: ResourceKind | undefined;
  /** Fields whose key is not a parameter's. "none": there is none here. */
  readonly special?: (field: string, value: unknown, host: string | undefined) => ProcessedKV | "none" | undefined;
}

/** FelixConfiguration: `default` gives global parameters, `node.<host>` those of a host, others travel as they are. */
export function felixConfigurationProcessor(): UpdateProcessor {
  return configProcessor({
    parameterOf: (field) => (FELIX_FIELDS.get(field)?.form === "placement" ? undefined : parameterName(field)),
    readsAnnotations: true,
    rest: "FelixConfiguration",
  });
}

/** ClusterInformation: four parameters and the flag that says whether the datastore is open for use. */
export function clusterInformationProcessor(): UpdateProcessor {
  return configProcessor({
    parameterOf: (field) => (field === "clusterGUID" ? "ClusterGUID" : capitalise(field)),
    readsAnnotations: false,
    rest: undefined,
    special: (field, value, host) => {
      if (field !== "datastoreReady") return undefined;
      if (host !== undefined) return "none";
      const key: Key = { type: "ReadyFlag" };
      if (typeof value === "boolean") return { key, value };
      return { key, value: undefined, isUnreadable: value !== undefined && value !== null };
    },
  });
}

/**
 * Each field is one key. What a resource set before and sets no more is sent as unset; after a resync the watcher
 * cache makes up those deletes, so the memory starts empty then. A field that cannot be read keeps the value that it
 * had: unset, it would be the default, which may let through what the setting stops, or end every agent.
 */
function configProcessor(kind: ConfigKind): UpdateProcessor {
  const sent = new Map<string, ReadonlyMap<string, Key>>();
  // Outlasts a resync: of what cannot be read at all then, nothing else says which keys it had.
  const last = new Remembered<ReadonlyMap<string, Key>>(MAX_REMEMBERED);
  return {
    onSyncerStarting: () => sent.clear(),
    process(input) {
      const { item, value, issues = [] } = input;
      const host = item.name.startsWith("node.") ? item.name.slice("node.".length) : undefined;
      if (host === "") return processed([], [...issues, errorAt("metadata.name", "Expected the name of a node")]);
      if (item.name !== "default" && host === undefined) {
        if (kind.rest === undefined) return processed([], issues);
        const key: Key = { type: "Resource", kind: kind.rest, namespace: "", name: item.name };
        return processed([{ key, value, isUnreadable: value === undefined && isUnreadable(issues) }], issues);
      }
      const found: ItemIssue[] = [...issues];
      const outputs = new Map<string, ProcessedKV>();
      const spec = value?.spec ?? undefined;
      if (spec !== undefined && !isObject(spec)) found.push(errorAt("spec", "Expected an object"));
      const isWhole = value === undefined ? isUnreadable(issues) : spec !== undefined && !isObject(spec);
      const before = sent.get(item.name) ?? (isWhole ? last.get(item.name) : undefined) ?? [];
      for (const [name, key] of before) outputs.set(name, { key, value: undefined, isUnreadable: isWhole });
      for (const [name, output] of fieldsOf(kind, input, host, found)) outputs.set(name, output);
      const alive = [...outputs].filter(([, output]) => output.value !== undefined || output.isUnreadable === true);
      const keys = new Map(alive.map(([name, output]) => [name, output.key]));
      if (keys.size > 0) {
        sent.set(item.name, keys);
        last.set(item.name, keys);
      } else {
        sent.delete(item.name);
        if (!isWhole) last.delete(item.name);
      }
      return processed([...outputs.values()], found);
    },
  };
}

function fieldsOf(
  kind: ConfigKind,
  { value }: ProcessorInput,
  host: string | undefined,
  issues: ItemIssue[],
): Map<string, ProcessedKV> {
  const out = new Map<string, ProcessedKV>();
  const set = (name: string, text: Value | undefined, isUnreadable = false): void => {
    const key: Key = host === undefined ? { type: "GlobalConfig", name } : { type: "HostConfig", hostname: host, name };
    out.set(name, { key, value: text, ...(isUnreadable && { isUnreadable }) });
  };
  for (const [field, raw] of Object.entries(isObject(value?.spec) ? value.spec : {})) {
    const special = kind.special?.(field, raw, host);
    if (special === "none") continue;
    if (special !== undefined) {
      if (special.isUnreadable === true) issues.push(notUsable(field, raw));
      out.set(field, special);
      continue;
    }
    const name = kind.parameterOf(field);
    if (name === undefined) continue;
    const text = fieldText(field, raw);
    if (text === undefined) issues.push(notUsable(field, raw));
    set(name, text ?? undefined, text === undefined);
  }
  if (!kind.readsAnnotations) return out;
  for (const [annotation, text] of Object.entries(value?.metadata.annotations ?? {})) {
    if (!annotation.startsWith(ANNOTATION_PREFIX) || text === "") continue;
    const name = annotation.slice(ANNOTATION_PREFIX.length);
    if (PARAMETER_NAME.test(name)) set(name, text);
    else issues.push(errorAt(`metadata.annotations.${annotation}`, "Not the name of a parameter"));
  }
  return out;
}

function notUsable(field: string, raw: unknown): ItemIssue {
  return errorAt(`spec.${field}`, `Not usable: ${JSON.stringify(raw).slice(0, 60)}`);
}
