import type { ManifestResource } from "@bulrush/datastore";
import { isObject, NAMESPACE_LABEL } from "@bulrush/model";
import type { LintContext } from "../context.ts";
import { MemberIndex } from "../member-index.ts";
import { peerSelectors } from "../peer-selectors.ts";
import type { PolicyView, RuleView } from "../policy-view.ts";
import type { Warning } from "../warning.ts";

/** Rules with the port of a Service whose pods listen on another one: policy sees what a packet has after the Service. */
export function* servicePortWarnings({ policies, resources }: LintContext): Iterable<Warning> {
  const pods = resources.filter(({ resource }) => resource.kind === "Pod" && resource.apiVersion === "v1").map(podOf);
  const translations = Map.groupBy(
    resources.flatMap((entry) => translationsOf(entry, pods)),
    ({ port }) => port,
  );
  if (translations.size === 0) return;
  const index = new MemberIndex(pods.map(({ labels }) => labels));
  const peers = Map.groupBy(peerSelectors(policies), ({ policy }) => policy);
  for (const policy of policies) {
    for (const { direction, rules } of policy.directions) {
      for (const rule of rules) {
        for (const { field, port } of numbersOf(policy, rule)) {
          const candidates = translations.get(port);
          if (candidates === undefined) continue;
          const selectors =
            direction === "ingress"
              ? [policy.v1.selector]
              : (peers.get(policy) ?? []).flatMap((one) =>
                  one.direction === direction && one.field.startsWith(`${rule.field}.`) ? [one.selector] : [],
                );
          const targets = new Set(
            selectors.flatMap((selector) => [...(index.pick(selector) ?? [])]).map((i) => pods[i]),
          );
          if ([...targets].some((pod) => pod?.ports.includes(port))) continue;
          const found = candidates.find((one) => one.pods.some((pod) => targets.has(pod)));
          if (found === undefined) continue;
          const message = `${port} is a port of the Service ${found.name}, whose pods listen on ${found.targetPort}: policy sees the port of the pod`;
          yield { code: "service-port", entry: policy.entry, field, message };
        }
      }
    }
  }
}

/** Labels of namespaces and service accounts are left out: what asks for those is not judged. */
interface Pod {
  readonly namespace: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly ports: readonly number[];
  readonly byName: ReadonlyMap<string, number>;
}

/** One port of a Service that is another one at its pods. */
interface Translation {
  readonly name: string;
  readonly port: number;
  readonly targetPort: number;
  readonly pods: readonly Pod[];
}

function podOf({ resource: { metadata, spec } }: ManifestResource): Pod {
  const { namespace = "default", labels = {} } = metadata;
  const ports = listOf(spec, "containers").flatMap((container) => listOf(container, "ports").filter(isObject));
  const numbered = ports.flatMap(({ name, containerPort }) =>
    typeof containerPort === "number" ? [{ name: typeof name === "string" ? name : "", containerPort }] : [],
  );
  return {
    namespace,
    labels: new Map([
      ...Object.entries(labels),
      [NAMESPACE_LABEL, namespace],
      ["projectcalico.org/orchestrator", "k8s"],
    ]),
    ports: numbered.map(({ containerPort }) => containerPort),
    byName: new Map(numbered.map(({ name, containerPort }) => [name, containerPort])),
  };
}

function translationsOf({ resource }: ManifestResource, pods: readonly Pod[]): readonly Translation[] {
  const { kind, metadata, spec } = resource;
  const selector = isObject(spec) ? spec["selector"] : undefined;
  if (kind !== "Service" || !isObject(selector) || Object.keys(selector).length === 0) return [];
  const { name, namespace = "default" } = metadata;
  const own = pods.filter(
    (pod) =>
      pod.namespace === namespace &&
      Object.entries(selector).every(([label, value]) => pod.labels.get(label) === value),
  );
  return listOf(spec, "ports").flatMap((one) => {
    const { port, targetPort } = isObject(one) ? one : {};
    const target = typeof targetPort === "string" ? own[0]?.byName.get(targetPort) : targetPort;
    if (typeof port !== "number" || typeof target !== "number" || target === port) return [];
    return [{ name: `${namespace}/${name}`, port, targetPort: target, pods: own }];
  });
}

/** Ports that a rule lets go by number; ranges are meant as they are. */
function numbersOf(
  { key, isCalico }: PolicyView,
  { field, written }: RuleView,
): readonly { field: string; port: number }[] {
  if (key.kind === "KubernetesClusterNetworkPolicy") return [];
  const at = isCalico ? `${field}.destination.ports` : `${field}.ports`;
  const ports = isCalico ? listOf(written["destination"], "ports") : listOf(written, "ports");
  return ports.flatMap((one, i) => {
    if (isCalico) return typeof one === "number" ? [{ field: `${at}[${i}]`, port: one }] : [];
    const { port, endPort } = isObject(one) ? one : {};
    return typeof port === "number" && endPort === undefined ? [{ field: `${at}[${i}].port`, port }] : [];
  });
}

function listOf(value: unknown, name: string): readonly unknown[] {
  const list = isObject(value) ? value[name] : undefined;
  return Array.isArray(list) ? list : [];
}
