import type { ManifestResource } from "@bulrush/datastore";
import { isObject } from "@bulrush/model";
import { tryParseSelector } from "@bulrush/selector";
import type { LintContext } from "../context.ts";
import { type Direction, DIRECTIONS, type PolicyView } from "../policy-view.ts";
import type { Warning } from "../warning.ts";

/** What locks people, or the agents themselves, out of hosts. */
export function* hostWarnings({ resources, policies }: LintContext): Iterable<Warning> {
  const endpoints = resources.filter(({ resource }) => resource.kind === "HostEndpoint");
  if (endpoints.length === 0) return;
  for (const entry of endpoints) yield* closedWarnings(entry, policies);
  for (const entry of resources) if (entry.resource.kind === "FelixConfiguration") yield* failsafeWarnings(entry);
}

/** A host endpoint denies what no policy and no profile of its own lets go, in either direction. */
function* closedWarnings(entry: ManifestResource, policies: readonly PolicyView[]): Iterable<Warning> {
  const { spec, metadata } = entry.resource;
  const profiles = isObject(spec) ? spec["profiles"] : undefined;
  if (Array.isArray(profiles) && profiles.length > 0) return;
  const labels = new Map(Object.entries(metadata.labels ?? {}));
  const own = policies.filter(({ isStaged, key, v1 }) => {
    const parsed = tryParseSelector(v1.selector);
    return !isStaged && key.namespace === "" && parsed.ok && parsed.selector.evaluate(labels);
  });
  const closed = DIRECTIONS.filter((direction) => !own.some((policy) => judges(policy, direction)));
  if (closed.length === 0) return;
  const what = closed.length === 2 ? "traffic" : closed[0];
  const message = `No policy here judges its ${what}, and it has no profile: all ${what} of the host itself there is denied, but for the failsafe ports`;
  yield { code: "closed-host-endpoint", entry, field: "spec", message };
}

function judges({ v1 }: PolicyView, direction: Direction): boolean {
  const types = v1.types ?? [];
  return types.length === 0 || types.includes(direction);
}

/** What an agent needs to be mended: people by SSH, and itself its Typha. */
const NEEDED = [
  { name: "failsafeInboundHostPorts", port: 22, loss: "a policy can shut out SSH (TCP 22)" },
  {
    name: "failsafeOutboundHostPorts",
    port: 5473,
    loss: "a policy can cut agents off from Typha (TCP 5473), and with that from its own correction",
  },
] as const;

function* failsafeWarnings(entry: ManifestResource): Iterable<Warning> {
  const { spec } = entry.resource;
  for (const { name, port, loss } of NEEDED) {
    const list = isObject(spec) ? spec[name] : undefined;
    if (!Array.isArray(list) || list.some((one) => isObject(one) && isTcp(one["protocol"]) && one["port"] === port))
      continue;
    yield { code: "failsafe-port-missing", entry, field: `spec.${name}`, message: `With host endpoints, ${loss}` };
  }
}

function isTcp(protocol: unknown): boolean {
  return protocol === undefined || (typeof protocol === "string" && protocol.toLowerCase() === "tcp") || protocol === 6;
}
