/** What the shipped manifests say is so in the code: settings, ports, probes, names that belong together, rights. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { FELIX_CONFIG } from "@bulrush/agent";
import { loadConfig } from "@bulrush/service";
import { TYPHA_TABLE } from "@bulrush/typha";
import type { KubeObject } from "../kube/kube-admin.ts";
import { DEPLOY, type Json, readYaml } from "./manifest.ts";
import { variants } from "./variants.ts";
import { type Container, envValue, find, onlyContainer, type PodTemplate, templateOf } from "./workload.ts";

const ROOT = join(DEPLOY, "..");
const VARIANTS = variants();
const TABLES = { TYPHA_: TYPHA_TABLE, FELIX_: FELIX_CONFIG } as const;
/** Variables of ours that stand in no table: the source that reads them. */
const OTHER_VARIABLES: Readonly<Record<string, string>> = {
  BULRUSH_PROC_SYS_DIR: "packages/dataplane/src/kernel/host-kernel.ts",
};
/** Both processes get them: from Kubernetes, or as whoever reads the datastore names interfaces. */
const OF_BOTH: readonly string[] = ["NAMESPACE", "FELIX_INTERFACEPREFIX"];

function workloads(objects: readonly KubeObject[]): readonly (readonly [KubeObject, PodTemplate, Container])[] {
  return objects
    .filter(({ kind }) => kind === "Deployment" || kind === "DaemonSet")
    .map((object) => [object, templateOf(object), onlyContainer(templateOf(object))] as const);
}

/** The setting's name in its table, whatever its case. */
function settingOf(variable: string): { readonly name: string; readonly idle: string | undefined } | undefined {
  for (const [prefix, table] of Object.entries(TABLES)) {
    if (!variable.startsWith(prefix)) continue;
    const wanted = variable.slice(prefix.length).toLowerCase();
    const entry = Object.entries(table).find(([name]) => name.toLowerCase() === wanted);
    if (entry !== undefined) return { name: entry[0], idle: entry[1].noEffect };
  }
  return undefined;
}

test("every YAML file of deploy is one", () => {
  const files = globSync("**/*.{yaml,yml}", { cwd: DEPLOY }).filter((file) => !file.includes("templates/"));
  assert.ok(files.length > 30);
  for (const file of files) assert.ok(readYaml(join(DEPLOY, file)).length > 0, file);
});

for (const [variant, objects] of VARIANTS) {
  describe(variant, () => {
    const typha = find(objects, "Deployment", "calico-typha");
    const agent = find(objects, "DaemonSet", "bulrush-agent");
    const typhaContainer = onlyContainer(templateOf(typha));
    const agentContainer = onlyContainer(templateOf(agent));

    test("every variable is a setting of the process that gets it, with a value that it takes", () => {
      for (const [{ metadata }, , { env = [] }] of workloads(objects)) {
        assert.equal(new Set(env.map(({ name }) => name)).size, env.length, `${metadata.name ?? ""}: one of each`);
        for (const { name, value } of env) {
          if (OF_BOTH.includes(name)) continue;
          const source = OTHER_VARIABLES[name];
          if (source !== undefined) assert.ok(readFileSync(join(ROOT, source), "utf8").includes(`"${name}"`), name);
          else assert.notEqual(settingOf(name), undefined, `${name} is no setting`);
          const wantsTypha = metadata.name === "calico-typha";
          if (source === undefined) assert.equal(name.startsWith("TYPHA_"), wantsTypha, name);
          // Files are those of the container, `none` is every type's word.
          if (value === undefined || value.startsWith("/") || value === "none") continue;
          const env = { [name]: value };
          const { warnings, errors } = name.startsWith("TYPHA_")
            ? loadConfig(TYPHA_TABLE, { prefix: "TYPHA_", env })
            : loadConfig(FELIX_CONFIG, { prefix: "FELIX_", env });
          assert.deepEqual([...warnings, ...errors], [], `${name}=${value}`);
        }
      }
    });

    test("probes ask the health server of the process, where and as often as operators expect", () => {
      for (const [container, port] of [
        [typhaContainer, 9098],
        [agentContainer, 9099],
      ] as const) {
        const prefix = container === typhaContainer ? "TYPHA_" : "FELIX_";
        assert.equal(envValue(container, `${prefix}HEALTHENABLED`), "true");
        assert.equal(envValue(container, `${prefix}HEALTHPORT`), String(port));
        const { livenessProbe, readinessProbe } = container;
        assert.deepEqual(livenessProbe?.httpGet, { host: "localhost", path: "/liveness", port });
        assert.deepEqual(readinessProbe?.httpGet, { host: "localhost", path: "/readiness", port });
        assert.deepEqual(
          [livenessProbe?.periodSeconds, livenessProbe?.initialDelaySeconds, livenessProbe?.timeoutSeconds],
          [30, 30, 10],
        );
        assert.deepEqual([readinessProbe?.periodSeconds, readinessProbe?.timeoutSeconds], [10, 10]);
      }
      const server = readFileSync(join(ROOT, "packages", "service", "src", "health", "health-server.ts"), "utf8");
      for (const path of ["/liveness", "/readiness"]) assert.ok(server.includes(`"${path}"`), path);
    });

    test("Typha, which works out the names of interfaces, has the agents' prefix", () => {
      const [made, looked] = [typhaContainer, agentContainer].map((one) => envValue(one, "FELIX_INTERFACEPREFIX"));
      assert.equal(made, looked);
      if (envValue(agentContainer, "FELIX_ROUTESYNCDISABLED") === "true") assert.equal(looked, "eni");
    });

    test("Service, Typha and agents go by one namespace, one name and one port", () => {
      const service = find(objects, "Service", "calico-typha");
      const { namespace = "", name = "" } = service.metadata;
      const [port] = (service["spec"] as { ports: { name: string; port: number; targetPort: string }[] }).ports;
      assert.deepEqual(port, { name: "calico-typha", port: 5473, protocol: "TCP", targetPort: "calico-typha" });
      assert.ok(typhaContainer.ports?.some((one) => one.name === port?.targetPort && one.containerPort === port.port));
      assert.deepEqual(
        ["NAMESPACE", "SERVICENAME", "PORTNAME"].map((what) => envValue(typhaContainer, `TYPHA_K8S${what}`)),
        [namespace, name, port?.name],
      );
      assert.equal(envValue(typhaContainer, "TYPHA_CONNECTIONREBALANCINGMODE"), "kubernetes");
      assert.deepEqual(
        [envValue(agentContainer, "FELIX_TYPHAK8SNAMESPACE"), envValue(agentContainer, "FELIX_TYPHAK8SSERVICENAME")],
        [namespace, name],
      );
      for (const [object, template] of workloads(objects)) {
        assert.equal(object.metadata.namespace, namespace);
        const { matchLabels } = (object["spec"] as { selector: { matchLabels: Record<string, string> } }).selector;
        assert.deepEqual(template.metadata.labels, matchLabels);
        const account = find(objects, "ServiceAccount", template.spec.serviceAccountName);
        assert.equal(account.metadata.namespace, namespace);
      }
      const { selector } = service["spec"] as { selector: Record<string, string> };
      assert.deepEqual(selector, templateOf(typha).metadata.labels);
    });

    test("the port is that of the code: 5473 by default, 9098 and 9099, 9093 and 9091", () => {
      assert.match(TYPHA_TABLE.ServerPort.doc, /0 is 5473/);
      assert.deepEqual([TYPHA_TABLE.HealthPort.default, FELIX_CONFIG.HealthPort.default], [9098, 9099]);
      const metrics = (container: Container): number | undefined =>
        container.ports?.find(({ name }) => name === "metrics")?.containerPort;
      for (const [container, prefix, standard] of [
        [typhaContainer, "TYPHA_", TYPHA_TABLE.PrometheusMetricsPort.default],
        [agentContainer, "FELIX_", FELIX_CONFIG.PrometheusMetricsPort.default],
      ] as const) {
        const isOn = envValue(container, `${prefix}PROMETHEUSMETRICSENABLED`) === "true";
        assert.equal(metrics(container), isOn ? standard : undefined);
        if (isOn) assert.equal(envValue(container, `${prefix}PROMETHEUSMETRICSPORT`), String(standard));
      }
    });

    test("Typha's Deployment is what operators expect of one", () => {
      const spec = typha["spec"] as Readonly<Record<string, Json>>;
      const template = templateOf(typha);
      const grace = template.spec.terminationGracePeriodSeconds ?? 0;
      assert.equal(grace, 300);
      assert.ok(Number(envValue(typhaContainer, "TYPHA_SHUTDOWNTIMEOUTSECS")) <= grace - 10);
      assert.ok(Number(spec["progressDeadlineSeconds"]) >= Math.max(600, 1.2 * grace));
      assert.deepEqual(spec["strategy"], {
        type: "RollingUpdate",
        rollingUpdate: { maxSurge: "100%", maxUnavailable: 1 },
      });
      const { hostNetwork, priorityClassName, securityContext, nodeSelector, tolerations, affinity } = template.spec;
      assert.deepEqual([hostNetwork, priorityClassName], [true, "system-cluster-critical"]);
      assert.equal(securityContext?.["runAsNonRoot"], true);
      assert.deepEqual(nodeSelector, { "kubernetes.io/os": "linux" });
      assert.equal((tolerations as readonly unknown[]).length, 3);
      assert.ok(JSON.stringify(affinity).includes("topology.kubernetes.io/zone"));
      assert.ok(Array.isArray(template.spec["topologySpreadConstraints"]));
      assert.equal(template.metadata.annotations?.["cluster-autoscaler.kubernetes.io/safe-to-evict"], "true");
      const budget = find(objects, "PodDisruptionBudget", "calico-typha")["spec"];
      assert.deepEqual(budget, { maxUnavailable: 1, selector: spec["selector"] });
    });

    test("no container is privileged; Typha has no capability, the agent NET_ADMIN alone", () => {
      for (const [object, , { securityContext = {} }] of workloads(objects)) {
        assert.notEqual(securityContext.privileged, true);
        assert.deepEqual(
          [securityContext.allowPrivilegeEscalation, securityContext.readOnlyRootFilesystem],
          [false, true],
        );
        assert.deepEqual(securityContext.capabilities?.drop, ["ALL"]);
        const added = object.kind === "DaemonSet" ? ["NET_ADMIN"] : undefined;
        assert.deepEqual(securityContext.capabilities?.add, added, object.metadata.name);
      }
    });

    test("every mount has its volume, and every volume is mounted", () => {
      for (const [{ metadata }, { spec }, { volumeMounts = [] }] of workloads(objects))
        assert.deepEqual(
          volumeMounts.map(({ name }) => name).sort(),
          (spec.volumes ?? []).map(({ name }) => name).sort(),
          metadata.name,
        );
    });

    test("files that settings name are in a volume", () => {
      for (const [, { spec }, { env = [], volumeMounts = [] }] of workloads(objects)) {
        for (const { name, value = "" } of env) {
          if (!/(?:CA|CERT|KEY)FILE$/.test(name)) continue;
          const mount = volumeMounts.find(({ mountPath }) => value.startsWith(`${mountPath}/`));
          const volume = spec.volumes?.find((one) => one.name === mount?.name);
          const paths = volume?.projected?.sources.flatMap(({ secret, configMap }) =>
            [...(secret?.items ?? []), ...(configMap?.items ?? [])].map(({ path }) => path),
          );
          assert.ok(paths?.includes(value.slice((mount?.mountPath.length ?? 0) + 1)), `${name}=${value}`);
        }
      }
    });

    test("Typha may only read; an agent reads EndpointSlices, and more only with tunnel addresses or WireGuard", () => {
      const rights = (account: string): ReadonlySet<string> => {
        const bound = objects.filter(
          (object) =>
            object.kind.endsWith("RoleBinding") &&
            (object["subjects"] as readonly { name: string; namespace: string }[]).some(
              ({ name, namespace }) => name === account && namespace === typha.metadata.namespace,
            ),
        );
        return new Set(
          bound.flatMap((binding) => {
            const { kind, name } = binding["roleRef"] as { kind: string; name: string };
            const { rules } = find(objects, kind, name) as unknown as {
              rules: readonly { resources: readonly string[]; verbs: readonly string[] }[];
            };
            return rules.flatMap(({ resources, verbs }) =>
              resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)),
            );
          }),
        );
      };
      for (const right of rights("bulrush-typha")) assert.match(right, /^(?:get|list|watch) /);
      const wantsMore = envValue(agentContainer, "FELIX_TUNNELADDRESSES") === "Enabled";
      assert.equal(wantsMore, /tunnel-addresses|wireguard|everything/.test(variant));
      const own = rights("bulrush-agent");
      const slices = ["get endpointslices", "list endpointslices", "watch endpointslices"];
      if (!wantsMore) assert.deepEqual([...own].sort(), slices);
      else {
        for (const right of [...slices, "patch nodes/status", "create ipamblocks"]) assert.ok(own.has(right), right);
        assert.ok(![...own].some((right) => /secrets|pods|\*/.test(right)));
      }
    });
  });
}

test("a setting that the manifests set has an effect, but for those that switch off what is not there or not yet", () => {
  const idle = new Set<string>();
  for (const objects of VARIANTS.values())
    for (const [, , { env = [] }] of workloads(objects))
      for (const { name } of env) if (settingOf(name)?.idle?.endsWith(" yet") === false) idle.add(name);
  for (const name of ["TYPHA_LOGSEVERITYSYS", "FELIX_LOGSEVERITYSYS"]) idle.delete(name);
  assert.deepEqual([...idle], []);
});

test("the ladder gives what nodes / 200 + 2 gives, 3 at least, and fewer only for fewer than 5 nodes", () => {
  const objects = VARIANTS.get("overlays/full") ?? [];
  const { ladder } = find(objects, "ConfigMap", "calico-typha-ladder")["data"] as { ladder: string };
  const { nodesToReplicas } = JSON.parse(ladder) as { nodesToReplicas: readonly (readonly [number, number])[] };
  const replicas = (nodes: number): number => nodesToReplicas.findLast(([from]) => from <= nodes)?.[1] ?? 0;
  for (let nodes = 1; nodes <= 5100; nodes++) {
    const wanted = nodes <= 2 ? 1 : nodes <= 4 ? 2 : Math.max(3, Math.floor(nodes / 200) + 2);
    assert.equal(replicas(nodes), wanted, `${nodes} nodes`);
    assert.ok(replicas(nodes) <= nodes);
  }
  const scaler = onlyContainer(templateOf(find(objects, "Deployment", "calico-typha-autoscaler")));
  const { command } = scaler as unknown as { command: readonly string[] };
  assert.ok(
    command.includes("--configmap=calico-typha-ladder") && command.includes("--target=deployment/calico-typha"),
  );
  assert.equal((find(objects, "Deployment", "calico-typha")["spec"] as { replicas?: number }).replicas, undefined);
});

test("certificates are good for what they are used for: Typha's for both sides", () => {
  const usages = (name: string): readonly string[] =>
    (find(VARIANTS.get("overlays/full") ?? [], "Certificate", name)["spec"] as { usages: readonly string[] }).usages;
  assert.deepEqual(usages("typha-certs"), ["digital signature", "server auth", "client auth"]);
  assert.deepEqual(usages("node-certs"), ["digital signature", "client auth"]);
});

test("the Dockerfile's images run the programs that the manifests want, Typha's not as root", () => {
  const text = readFileSync(join(DEPLOY, "docker", "Dockerfile"), "utf8");
  const stages = new Map(
    text
      .split(/^FROM /m)
      .slice(1)
      .map((stage) => [/ AS (\w+)/.exec(stage)?.[1] ?? "", stage] as const),
  );
  assert.deepEqual([...stages.keys()], ["build", "runtime", "typha", "agent"]);
  assert.match(stages.get("typha") ?? "", /^USER 10001:10001$/m);
  assert.equal(
    templateOf(find(VARIANTS.get("base") ?? [], "Deployment", "calico-typha")).spec.securityContext?.["runAsUser"],
    10001,
  );
  for (const program of ["typha", "agent"]) {
    assert.match(stages.get(program) ?? "", new RegExp(`^ENTRYPOINT \\["bulrush-${program}"\\]$`, "m"));
    assert.match(text, new RegExp(`--target ${program} -t bulrush-${program}:`));
  }
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  for (const [name, objects] of VARIANTS)
    for (const [{ metadata }, , { image }] of workloads(objects))
      if (image.startsWith("bulrush-"))
        assert.ok(image.endsWith(`:${version}`), `${name} ${metadata.name ?? ""}: ${image}`);
});
