/** A real bulrush-typha, and every syncer, on a real kube-apiserver with the shipped role and nothing else. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "@bulrush/base";
import { createSyncer, datastoreConfigFromEnvironment, openDatastore } from "@bulrush/datastore";
import { CALICO_CRD_V1, CALICO_V3 } from "@bulrush/model";
import { SYNCER_TYPES } from "@bulrush/proto";
import { skipWithoutKube } from "../kube/binaries.ts";
import type { KubeObject } from "../kube/kube-admin.ts";
import { putObject } from "../lab/kubernetes-store.ts";
import { KubeServer } from "../kube/kube-server.ts";
import { AuditLog } from "./audit-log.ts";
import { ShippedRole } from "./shipped-role.ts";
import { TyphaProcess } from "./typha-process.ts";

const CRDS = join(import.meta.dirname, "..", "..", "..", "deploy", "crds");
const READ_VERBS = ["get", "list", "watch"];

/** Somebody else's resource, as far as Typha looks at it. */
function definition(group: string, kind: string, scope: "Namespaced" | "Cluster"): KubeObject {
  const plural = `${kind.toLowerCase()}s`;
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const versions = [{ name: "v1", served: true, storage: true, schema }];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names: { plural, kind }, versions },
  };
}

const MIGRATIONS = definition("kubevirt.io", "VirtualMachineInstanceMigration", "Namespaced");
const GLOBAL_CONFIGS = definition("crd.projectcalico.org", "GlobalConfig", "Cluster");

/** One new object of every list that Typha's stream is made from, and the path under which it arrives. */
function objects(apiVersion: string): readonly (readonly [object: KubeObject, path: string])[] {
  const v3 = "/calico/resources/v3/projectcalico.org";
  const calico = (kind: string, name: string, spec: unknown, namespace?: string): KubeObject => ({
    apiVersion,
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    spec,
  });
  const native = (kind: string, name: string, more: object = {}, namespace?: string, version = "v1"): KubeObject => ({
    apiVersion: version,
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    ...more,
  });
  const ns = "role";
  const pod = {
    spec: { nodeName: "n1", containers: [{ name: "c", image: "registry.invalid/none" }] },
    status: { podIP: "10.65.0.8", podIPs: [{ ip: "10.65.0.8" }] },
  };
  const service = { spec: { clusterIP: "None", ports: [{ port: 80 }] } };
  const slice = { addressType: "IPv4", endpoints: [{ addresses: ["10.65.0.9"] }], ports: [] };
  const migration = {
    spec: { vmiName: "vm" },
    status: { phase: "Running", migrationState: { migrationUid: "u", targetPod: "p" } },
  };
  return [
    [native("Namespace", ns), `/calico/v1/policy/profile/kns.${ns}/rules`],
    [native("ServiceAccount", "sa", {}, ns), `/calico/v1/policy/profile/ksa.${ns}.sa/rules`],
    [native("Node", "n1"), `${v3}/nodes/n1`],
    [native("Pod", "p", pod, ns), `/calico/v1/host/n1/workload/k8s/${ns}%2fp/endpoint/eth0`],
    [native("Service", "s", service, ns), `${v3}/kubernetesservices/${ns}/s`],
    [native("EndpointSlice", "e", slice, ns, "discovery.k8s.io/v1"), `${v3}/kubernetesendpointslices/${ns}/e`],
    [
      native("NetworkPolicy", "k", { spec: { podSelector: {} } }, ns, "networking.k8s.io/v1"),
      `/calico/v1/policy/KubernetesNetworkPolicy/${ns}/k`,
    ],
    [
      native(
        "ClusterNetworkPolicy",
        "c",
        {
          spec: {
            tier: "Admin",
            priority: 5,
            subject: { namespaces: {} },
            ingress: [{ action: "Deny", from: [{ namespaces: {} }] }],
          },
        },
        undefined,
        "policy.networking.k8s.io/v1alpha2",
      ),
      "/calico/v1/policy/KubernetesClusterNetworkPolicy//c",
    ],
    [native("VirtualMachineInstanceMigration", "m", migration, ns, "kubevirt.io/v1"), ""],
    [calico("ClusterInformation", "default", { calicoVersion: "v3.32.0" }), "/calico/v1/config/CalicoVersion"],
    [calico("FelixConfiguration", "default", { logSeverityScreen: "Info" }), "/calico/v1/config/LogSeverityScreen"],
    [calico("GlobalNetworkPolicy", "g", { selector: "all()" }), "/calico/v1/policy/GlobalNetworkPolicy//g"],
    [calico("NetworkPolicy", "n", { selector: "all()" }, ns), `/calico/v1/policy/NetworkPolicy/${ns}/n`],
    [calico("StagedGlobalNetworkPolicy", "g", { selector: "all()" }), "/calico/v1/policy/StagedGlobalNetworkPolicy//g"],
    [calico("StagedNetworkPolicy", "n", { selector: "all()" }, ns), `/calico/v1/policy/StagedNetworkPolicy/${ns}/n`],
    [
      calico("StagedKubernetesNetworkPolicy", "n", { podSelector: {} }, ns),
      `/calico/v1/policy/StagedKubernetesNetworkPolicy/${ns}/n`,
    ],
    [calico("Tier", "t", { order: 5 }), "/calico/v1/policy/tier/t/metadata"],
    [calico("GlobalNetworkSet", "g", { nets: ["10.1.0.0/16"] }), "/calico/v1/netset/g"],
    [calico("NetworkSet", "n", { nets: ["10.1.0.0/16"] }, ns), `/calico/v1/netset/${ns}%2fn`],
    [calico("IPPool", "i", { cidr: "10.65.0.0/16" }), "/calico/v1/ipam/v4/pool/10.65.0.0-16"],
    [calico("HostEndpoint", "h", { node: "n1", interfaceName: "eth0" }), "/calico/v1/host/n1/endpoint/h"],
    [calico("BGPConfiguration", "default", { asNumber: 64512 }), `${v3}/bgpconfigurations/default`],
    [calico("BGPPeer", "b", { peerIP: "10.0.0.9", asNumber: 64512 }), `${v3}/bgppeers/b`],
    [
      calico("IPAMBlock", "10-65-0-0-26", {
        cidr: "10.65.0.0/26",
        affinity: "host:n1",
        allocations: [],
        unallocated: [],
        attributes: [],
      }),
      "/calico/ipam/v2/assignment/ipv4/block/10.65.0.0-26",
    ],
  ];
}

/** A server takes a moment until it serves a new resource. */
async function untilServed<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt > 200) throw error;
      await sleep(50);
    }
  }
}

for (const apiVersion of [CALICO_CRD_V1, CALICO_V3]) {
  describe(`bulrush-typha with the shipped role, CRDs of ${apiVersion}`, { skip: skipWithoutKube() }, () => {
    let kube: KubeServer;
    let audit: AuditLog;
    let role: ShippedRole;
    let kubeconfig: string;

    before(async () => {
      audit = new AuditLog();
      kube = await KubeServer.start({ extraArgs: audit.args });
      await kube.admin.installCrds(join(CRDS, apiVersion.split("/")[0] ?? ""));
      await kube.admin.installCrds(join(CRDS, "policy.networking.k8s.io"));
      await kube.admin.create(MIGRATIONS);
      role = await ShippedRole.install(kube.admin);
      kubeconfig = kube.kubeconfigFor("typha", role.token);
    });
    after(async () => {
      await kube.stop();
      audit.remove();
    });

    test("the role has no verb but get, list and watch, no wildcard and nothing beside resources", () => {
      assert.ok(role.rules.length > 5);
      for (const { apiGroups = [], resources = [], nonResourceURLs, verbs } of role.rules) {
        assert.deepEqual(verbs, READ_VERBS);
        assert.ok(![...apiGroups, ...resources].includes("*"), JSON.stringify(resources));
        assert.ok(!resources.some((resource) => resource.includes("/") || resource === "secrets"));
        assert.equal(nonResourceURLs, undefined);
      }
    });

    test("a Typha that is to initialise nothing does not even try to write", async () => {
      const typha = await TyphaProcess.start({ kubeconfig, env: { TYPHA_INITIALISEDATASTORE: "never" } });
      try {
        await typha.until("told that ClusterInformation is missing", async () => {
          assert.match((await typha.readiness()).text, /NOT READY .*DATASTORE_NOT_INITIALISED/);
          assert.equal(typha.statuses.at(-1), "in-sync");
        });
        const requests = audit.requestsOf("default", "bulrush-typha");
        assert.ok(requests.some(({ verb, resource }) => verb === "watch" && resource === "tiers"));
        const others = requests.filter(({ verb, status }) => !READ_VERBS.includes(verb) || status === 403);
        assert.deepEqual(others, []);
      } finally {
        await typha.stop();
      }
    });

    if (apiVersion === CALICO_CRD_V1) {
      test("v1 data of an old Calico is seen with that role, and not taken for an empty datastore", async () => {
        await kube.admin.create(GLOBAL_CONFIGS);
        const config: KubeObject = {
          apiVersion,
          kind: "GlobalConfig",
          metadata: { name: "calicoversion" },
          spec: { name: "CalicoVersion", value: "v2.6.12" },
        };
        await untilServed(() => kube.admin.create(config));
        const typha = await TyphaProcess.start({ kubeconfig });
        try {
          await typha.until("told that this is v1 data", async () => {
            assert.match((await typha.readiness()).text, /NOT READY .*v2\.6\.12.*DATASTORE_LEGACY_DATA/);
          });
          assert.equal(typha.state.size, 0);
          await kube.admin.delete(GLOBAL_CONFIGS);
          await typha.until("going on, now that it is gone", async () => {
            assert.match((await typha.readiness()).text, /DATASTORE_NOT_INITIALISED/);
          });
        } finally {
          await typha.stop();
        }
      });
    }

    test("Typha starts, is in sync, follows every list, and needs no write", async () => {
      const typha = await TyphaProcess.start({ kubeconfig });
      try {
        // Nobody has initialised the datastore, and Typha may not.
        await typha.until("told that ClusterInformation is missing", async () => {
          const { ready, text } = await typha.readiness();
          assert.equal(ready, false);
          assert.match(text, /DATASTORE_NOT_INITIALISED/);
          assert.equal(typha.statuses.at(-1), "in-sync");
        });
        for (const [object, path] of objects(apiVersion)) {
          assert.ok(path === "" || !typha.state.has(path), `${path} was there before its object`);
          await putObject(kube.admin, object);
        }
        await typha.until("in possession of an object of every kind", async () => {
          assert.deepEqual(
            objects(apiVersion).flatMap(([, path]) => (path === "" || typha.state.has(path) ? [] : [path])),
            [],
          );
          const { ready, text } = await typha.readiness();
          assert.ok(ready, text);
          assert.match(text, /^felix-cache .*in sync, \d+ keys$/m);
        });
        assert.deepEqual(typha.deleted, []);
        const inSync = await typha.metrics("bulrush_typha_kind_in_sync");
        assert.ok(inSync.length >= 23, String(inSync.length));
        for (const line of inSync) assert.match(line, / 1$/);
        assert.deepEqual(await typha.metrics("bulrush_typha_kind_amiss"), []);
        assert.equal(await typha.stop(), 0);
      } finally {
        await typha.stop();
      }
    });

    test("a CalicoAPIConfig file opens the same server, by token and by a kubeconfig in it", async () => {
      const clock = systemClock({ keepAlive: true });
      const caFile = join(kube.directory, "api-config-ca.pem");
      writeFileSync(caFile, kube.files.caPem);
      for (const spec of [
        { k8sAPIEndpoint: kube.url, k8sAPIToken: role.token, k8sCAFile: caFile },
        { datastoreType: "kubernetes", kubeconfigInline: readFileSync(kubeconfig, "utf8") },
      ]) {
        const file = join(kube.directory, "calicoctl.cfg");
        writeFileSync(file, JSON.stringify({ apiVersion: CALICO_V3, kind: "CalicoAPIConfig", metadata: {}, spec }));
        const config = datastoreConfigFromEnvironment({ BULRUSH_DATASTORE_CONFIG: file, KUBECONFIG: "/nowhere" });
        const driver = await openDatastore(config, { clock });
        await driver.probe("Tier", AbortSignal.timeout(30_000));
        await driver.close();
      }
    });

    for (const type of SYNCER_TYPES) {
      test(`the syncer ${type} reads all of its kinds`, async () => {
        const clock = systemClock({ keepAlive: true });
        const driver = await openDatastore({ type: "kubernetes", kubeconfig: [kubeconfig], qps: 100 }, { clock });
        const inSync = Promise.withResolvers<void>();
        const syncer = createSyncer(type, {
          driver,
          clock,
          callbacks: {
            onStatusUpdated: (status) => (status === "in-sync" ? inSync.resolve() : undefined),
            onUpdates: () => undefined,
          },
        });
        try {
          syncer.start();
          await inSync.promise;
          for (const { kind, status, reason } of syncer.report())
            assert.deepEqual([kind, status, reason], [kind, "in-sync", undefined]);
        } finally {
          await syncer.stop();
          await driver.close();
        }
      });
    }

    test("the server says that the account only read: it listed and watched each resource, and was refused one attempt to write", () => {
      const requests = audit.requestsOf("default", "bulrush-typha");
      const group = apiVersion.split("/")[0] ?? "";
      const other = apiVersion === CALICO_V3 ? "crd.projectcalico.org" : "projectcalico.org";
      for (const { apiGroups = [], resources = [] } of role.rules) {
        if (apiGroups.includes(other)) continue;
        for (const resource of resources) {
          if (resource === "globalconfigs") continue;
          const own = requests.filter((request) => apiGroups.includes(request.group) && request.resource === resource);
          const verbs = new Set(own.filter(({ status }) => status === 200).map(({ verb }) => verb));
          assert.ok(verbs.has("watch"), `${resource}: ${JSON.stringify(own)}`);
        }
      }
      // What is not to be had is asked for once, at the start, and does no harm: nobody gave Typha the right to it.
      const refused = requests.filter(({ status }) => status === 403);
      for (const { verb, group: of, resource } of refused)
        assert.ok(verb === "create" && of === group && ["clusterinformations", "tiers"].includes(resource), resource);
      const written = requests.filter(({ verb, status }) => !READ_VERBS.includes(verb) && status < 400);
      assert.deepEqual(written, []);
    });
  });
}
