/** The readers of this directory against kubectl and helm, where a machine has them; and the chart against the overlays. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { KubeObject } from "../kube/kube-admin.ts";
import { CHART, renderChart } from "./chart.ts";
import { buildKustomization } from "./kustomize.ts";
import { asObject, DEPLOY, identityOf, isList, isMap, type Json, parseYaml } from "./manifest.ts";
import { CHART_VALUES, KUSTOMIZE } from "./variants.ts";
import { find, onlyContainer, templateOf } from "./workload.ts";

function skipWithout(...command: readonly [string, ...string[]]): string | false {
  const [program, ...args] = command;
  return spawnSync(program, args).status === 0 ? false : `[binary] ${program} is not on this machine`;
}

/** Entries that have names are told apart by them: their order says nothing. */
function unordered(value: Json): Json {
  if (isMap(value)) return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, unordered(entry)]));
  if (!isList(value)) return value;
  const entries = value.map((entry) => unordered(entry));
  const nameOf = (entry: Json): string => (isMap(entry) && typeof entry["name"] === "string" ? entry["name"] : "");
  return entries.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0));
}

function byIdentity(objects: readonly KubeObject[]): Readonly<Record<string, Json>> {
  const sorted = objects
    .map((object) => [identityOf(object), unordered(object as unknown as Json)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  assert.equal(new Set(sorted.map(([id]) => id)).size, objects.length, "one of each");
  return Object.fromEntries(sorted);
}

/** Helm asks for one where there is no cluster. */
const KUBE_VERSION = "1.36.0";
const OVERLAYS = [
  "base",
  "own-ports",
  "overlays/calico-system",
  "overlays/full",
  "overlays/policy-only",
  "overlays/tunnel-addresses",
  "overlays/wireguard",
];

test("buildKustomization() gives what kubectl kustomize gives", {
  skip: skipWithout("kubectl", "kustomize", "--help"),
}, () => {
  for (const name of OVERLAYS) {
    const directory = join(KUSTOMIZE, name);
    const text = execFileSync("kubectl", ["kustomize", directory], { encoding: "utf8", maxBuffer: 1 << 26 });
    const theirs = parseYaml(text, name).map((value) => asObject(value, name));
    assert.deepEqual(byIdentity(buildKustomization(directory)), byIdentity(theirs), name);
  }
});

test("renderChart() gives what helm template gives, and helm finds no fault", {
  skip: skipWithout("helm", "version"),
}, () => {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-chart-"));
  try {
    for (const [name, values] of Object.entries(CHART_VALUES)) {
      const file = join(directory, "values.json");
      writeFileSync(file, JSON.stringify(values));
      const args = [
        "template",
        "bulrush",
        CHART,
        "--namespace",
        "policy",
        "--values",
        file,
        "--kube-version",
        KUBE_VERSION,
      ];
      const text = execFileSync("helm", args, { encoding: "utf8", maxBuffer: 1 << 26 });
      const theirs = parseYaml(text, name).map((value) => asObject(value, name));
      assert.deepEqual(byIdentity(renderChart(values, "policy")), byIdentity(theirs), name);
      execFileSync("helm", ["lint", "--strict", CHART, "--values", file, "--kube-version", KUBE_VERSION], {
        stdio: "pipe",
      });
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("the chart as it comes is the base, and with everything on it is the overlay that has everything", () => {
  assert.deepEqual(byIdentity(renderChart()), byIdentity(buildKustomization(join(KUSTOMIZE, "base"))));
  const everything = {
    certs: { from: "cert-manager" },
    typha: { ladder: { enabled: true } },
    monitoring: { enabled: true, operator: true },
  };
  const full = buildKustomization(join(KUSTOMIZE, "overlays", "full"));
  assert.deepEqual(byIdentity(renderChart(everything)), byIdentity(full));
  const withPolicies = renderChart({ ...everything, ownPorts: { enabled: true } });
  const ownPorts = buildKustomization(join(KUSTOMIZE, "own-ports"));
  assert.deepEqual(byIdentity(withPolicies), byIdentity([...full, ...ownPorts]));
});

test("the chart's policy-only, WireGuard and namespace are those of the overlays", () => {
  const overlay = (name: string): KubeObject[] => buildKustomization(join(KUSTOMIZE, "overlays", name));
  const agentOf = (objects: readonly KubeObject[]): unknown =>
    onlyContainer(templateOf(find(objects, "DaemonSet", "bulrush-agent"))).env?.toSorted((a, b) =>
      a.name < b.name ? -1 : 1,
    );
  const policyOnly = renderChart({ agent: { policyOnly: true, interfacePrefix: "eni" } });
  assert.deepEqual(agentOf(policyOnly), agentOf(overlay("policy-only")));
  assert.deepEqual(byIdentity(renderChart({ agent: { wireguard: true } })), byIdentity(overlay("wireguard")));
  const tunnels = renderChart({ agent: { tunnelAddresses: true } });
  assert.deepEqual(byIdentity(tunnels), byIdentity(overlay("tunnel-addresses")));
  const own = overlay("calico-system").filter(({ kind }) => kind !== "Namespace");
  assert.deepEqual(byIdentity(renderChart({}, "calico-system")), byIdentity(own));
  assert.deepEqual(renderChart({ installation: { enabled: false } }), []);
});

test("files that the chart has a copy of are those that they are copied from", () => {
  const text = (...path: readonly string[]): string => readFileSync(join(DEPLOY, ...path), "utf8");
  assert.equal(
    text("helm", "bulrush", "files", "typha-role.yaml"),
    text("rbac", "typha-role.yaml"),
    "run generate-rbac.ts",
  );
  const monitoring = ["kustomize", "components", "monitoring"];
  for (const name of ["calico-typha.json", "calico-felix.json"])
    assert.equal(text("helm", "bulrush", "files", name), text(...monitoring, "dashboards", name), name);
});
