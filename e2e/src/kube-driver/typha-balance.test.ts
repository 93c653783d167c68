import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@bulrush/base";
import { createSyncClient, tlsFromParameters } from "@bulrush/sync-client";
import type { StatusView } from "@bulrush/typha";
import { runCtl } from "../ctl-store/run-ctl.ts";
import { skipWithoutKube } from "../kube/binaries.ts";
import { freePorts } from "../kube/free-ports.ts";
import type { KubeObject } from "../kube/kube-admin.ts";
import { KubeServer } from "../kube/kube-server.ts";
import { CertificateAuthority } from "../lab/certificates.ts";
import { labTests } from "../lab/lab-test.ts";
import { FABRIC_ADDRESS, LabNetwork } from "../lab/network.ts";
import { Program } from "../lab/program.ts";

const CRDS = join(import.meta.dirname, "..", "..", "..", "deploy", "crds");
const SERVICE = { namespace: "calico-system", name: "my-typha", port: "sync" };

interface Ports {
  readonly sync: number;
  readonly admin: number;
}

function sliceOf({ sync }: Ports): KubeObject {
  const name = `typha-${sync}`;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: SERVICE.namespace, labels: { "kubernetes.io/service-name": SERVICE.name } },
    addressType: "IPv4",
    ports: [{ name: SERVICE.port, protocol: "TCP", port: sync }],
    endpoints: [{ addresses: [FABRIC_ADDRESS], targetRef: { kind: "Pod", namespace: SERVICE.namespace, name } }],
  };
}

/** Certificates of both sides as files, by the settings that name them. */
async function certificates(directory: string) {
  const authority = await CertificateAuthority.create();
  const at = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const [server, client] = [
    await authority.issue({ commonName: "typha-server" }),
    await authority.issue({ commonName: "typha-client" }),
  ];
  const ca = at("ca.pem", authority.caPem);
  return {
    typha: {
      TYPHA_CAFILE: ca,
      TYPHA_SERVERCERTFILE: at("server.pem", server.certPem),
      TYPHA_SERVERKEYFILE: at("server.key", server.keyPem),
      TYPHA_CLIENTCN: "typha-client",
    },
    felix: {
      FELIX_TYPHACAFILE: ca,
      FELIX_TYPHACERTFILE: at("client.pem", client.certPem),
      FELIX_TYPHAKEYFILE: at("client.key", client.keyPem),
      FELIX_TYPHACN: "typha-server",
    },
  };
}

async function statusOf({ admin }: Ports): Promise<StatusView> {
  return (await (await fetch(`http://127.0.0.1:${admin}/api/v1/status`)).json()) as StatusView;
}

/** Waits until it holds; what was thrown last is in the failure. */
async function until(what: string, holds: () => Promise<void>, program: Program): Promise<void> {
  for (const endMs = performance.now() + 120_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    try {
      return await holds();
    } catch (error) {
      if (performance.now() > endMs) assert.fail(`Not ${what}: ${String(error)}\n${program.logTail(20)}`);
    }
  }
}

function define(): void {
  test("real Typhas count one another and the nodes, and tell their load over mutual TLS", async () => {
    new LabNetwork();
    await using kube = await KubeServer.start();
    const { admin } = kube;
    for (const group of ["projectcalico.org", "policy.networking.k8s.io"]) await admin.installCrds(join(CRDS, group));
    await admin.createNamespace(SERVICE.namespace);
    for (const name of ["n1", "n2", "n3"]) await admin.create({ apiVersion: "v1", kind: "Node", metadata: { name } });
    const directory = mkdtempSync(join(tmpdir(), "bulrush-balance-"));
    const { typha, felix } = await certificates(directory);
    const [a = 0, b = 0, c = 0, d = 0] = await freePorts(4);
    const both: readonly Ports[] = [
      { sync: a, admin: b },
      { sync: c, admin: d },
    ];
    const programs = both.map((ports) =>
      Program.start({
        name: "bulrush-typha",
        logFile: join(directory, `typha-${ports.sync}.log`),
        env: {
          DATASTORE_TYPE: "kubernetes",
          KUBECONFIG: kube.kubeconfig,
          TYPHA_SERVERHOST: FABRIC_ADDRESS,
          TYPHA_SERVERPORT: String(ports.sync),
          TYPHA_ADMINPORT: String(ports.admin),
          TYPHA_LOGFILEPATH: "none",
          TYPHA_SHUTDOWNTIMEOUTSECS: "1",
          TYPHA_CONNECTIONREBALANCINGMODE: "kubernetes",
          TYPHA_MAXCONNECTIONSLOWERLIMIT: "1",
          TYPHA_K8SSERVICEPOLLINTERVALSECS: "0.2",
          TYPHA_K8SNAMESPACE: SERVICE.namespace,
          TYPHA_K8SSERVICENAME: SERVICE.name,
          TYPHA_K8SPORTNAME: SERVICE.port,
          ...typha,
        },
      }),
    );
    const [first, second] = programs as [Program, Program];
    const [one, other] = both as [Ports, Ports];
    const tls = tlsFromParameters({
      caFile: felix.FELIX_TYPHACAFILE,
      certFile: felix.FELIX_TYPHACERTFILE,
      keyFile: felix.FELIX_TYPHAKEYFILE,
      serverCN: felix.FELIX_TYPHACN,
    });
    assert.ok(tls);
    const client = createSyncClient({
      servers: [{ host: FABRIC_ADDRESS, port: other.sync }],
      tls,
      hostname: "n1",
      info: "test",
      syncer: "felix",
      clock: systemClock({ keepAlive: true }),
      random: Math.random,
      callbacks: { onUpdates: () => undefined, onStatusUpdated: () => undefined },
    });
    try {
      for (const ports of both) await admin.create(sliceOf(ports));
      client.start();
      await until(
        "counted",
        async () => {
          const { balance, ready, health } = await statusOf(one);
          assert.ok(ready, health);
          // 4 * (1 + floor(1.2 * 3 / 1)).
          const { limit, reason, typhas, nodes, problem } = balance ?? {};
          assert.deepEqual(
            { limit, reason, typhas, nodes, problem },
            { limit: 16, reason: "fraction+20%", typhas: 2, nodes: 3, problem: null },
          );
          const told = balance?.peers.map(({ address, streams, takesClients }) => ({ address, streams, takesClients }));
          assert.deepEqual(told, [{ address: `${FABRIC_ADDRESS}:${other.sync}`, streams: 1, takesClients: true }]);
        },
        first,
      );
      const limits = await runCtl(["limits", "--admin", `http://127.0.0.1:${one.admin}`, "-o", "json"], {});
      assert.equal((JSON.parse(limits.out) as { readonly limit: number }).limit, 16, limits.err);
      const check = await runCtl(["tls-check", "--addr", `${FABRIC_ADDRESS}:${one.sync}`], { ...felix, ...typha });
      assert.equal(check.code, 0, `${check.out}${check.err}`);
      const watched = await runCtl(
        ["watch", "--syncer", "bgp", "--once", "--addr", `${FABRIC_ADDRESS}:${one.sync}`],
        felix,
      );
      assert.match(watched.out, /nodes\/n1.*\{"type":"status","status":"in-sync"\}\n$/s);

      await second.stop("SIGKILL");
      await admin.delete(sliceOf(other));
      await until(
        "alone",
        async () => {
          const { balance } = await statusOf(one);
          assert.deepEqual([balance?.limit, balance?.reason, balance?.peers], [10_000, "lone typha", []]);
        },
        first,
      );
    } finally {
      await client.stop();
      for (const program of programs) await program.stop("SIGKILL");
      rmSync(directory, { recursive: true, force: true });
    }
  });
}

const skip = skipWithoutKube();
if (skip === false) labTests(import.meta.filename, define);
else test("real Typhas count one another", { skip }, () => undefined);
