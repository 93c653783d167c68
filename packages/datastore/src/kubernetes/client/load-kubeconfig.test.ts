import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { kubernetesConfigFromEnvironment, type KubernetesDatastoreConfig } from "../kubernetes-config.ts";
import { KubeConnection } from "./kube-connection.ts";
import { loadKubeConfig } from "./load-kubeconfig.ts";

const directory = mkdtempSync(join(tmpdir(), "bulrush-kubeconfig-"));
after(() => rmSync(directory, { recursive: true }));

/** Writes a kubeconfig of one cluster, user and context of a name, and gives its path. */
function kubeconfig(name: string, server: string, user: object, current: string | undefined = name): string {
  const file = join(directory, `${name}-${Math.round(performance.now() * 1000)}`);
  writeFileSync(
    file,
    JSON.stringify({
      clusters: [{ name, cluster: { server, "certificate-authority": "ca.crt" } }],
      users: [{ name, user }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      "current-context": current,
    }),
  );
  return file;
}

writeFileSync(join(directory, "ca.crt"), "the CA");
writeFileSync(join(directory, "other-ca.crt"), "another CA");
writeFileSync(join(directory, "me.crt"), "the certificate");
writeFileSync(join(directory, "me.key"), "the key");
const account = join(directory, "account");
mkdirSync(account);
writeFileSync(join(account, "token"), "pod-token\n");
writeFileSync(join(account, "ca.crt"), "the pod's CA");
const home = join(directory, "home");
mkdirSync(join(home, ".kube"), { recursive: true });
writeFileSync(
  join(home, ".kube", "config"),
  JSON.stringify({
    clusters: [{ name: "h", cluster: { server: "https://home:6443/" } }],
    users: [{ name: "h", user: { token: "home-token" } }],
    contexts: [{ name: "h", context: { cluster: "h", user: "h" } }],
    "current-context": "h",
  }),
);

const first = kubeconfig("first", "https://first:6443", { token: "first-token" }, "");
const second = kubeconfig("second", "https://second:6443", { token: "second-token" });
const withCertificate = kubeconfig("cert", "https://cert:6443", {
  "client-certificate": "me.crt",
  "client-key": "me.key",
});
const credential = {
  apiVersion: "client.authentication.k8s.io/v1",
  kind: "ExecCredential",
  status: { token: "plugin-token" },
};
const withPlugin = kubeconfig("plugin", "https://plugin:6443", {
  exec: { command: process.execPath, args: ["-e", `console.log(${JSON.stringify(JSON.stringify(credential))})`] },
});
const insecure = { insecureSkipTlsVerify: true };

type Settings = Omit<KubernetesDatastoreConfig, "type">;

const ROWS: readonly (readonly [what: string, settings: Settings, server: string, credentials: string, ca: string])[] =
  [
    ["one file", { kubeconfig: [second] }, "https://second:6443", "token second-token", "the CA"],
    [
      "several files, the first current context",
      { kubeconfig: [first, second] },
      "https://second:6443",
      "token second-token",
      "the CA",
    ],
    [
      "a file that is not there beside one that is",
      { kubeconfig: ["/nowhere", second] },
      "https://second:6443",
      "token second-token",
      "the CA",
    ],
    [
      "a chosen context",
      { kubeconfig: [first, second], context: "first" },
      "https://first:6443",
      "token first-token",
      "the CA",
    ],
    [
      "a certificate",
      { kubeconfig: [withCertificate] },
      "https://cert:6443",
      "certificate the certificate the key",
      "the CA",
    ],
    ["a plugin for credentials", { kubeconfig: [withPlugin] }, "https://plugin:6443", "token plugin-token", "the CA"],
    [
      "another server",
      { kubeconfig: [second], server: "https://x/prefix/" },
      "https://x/prefix",
      "token second-token",
      "the CA",
    ],
    ["another token", { kubeconfig: [withCertificate], token: "t" }, "https://cert:6443", "token t", "the CA"],
    [
      "another CA",
      { kubeconfig: [second], caFile: join(directory, "other-ca.crt") },
      "https://second:6443",
      "token second-token",
      "another CA",
    ],
    [
      "another certificate",
      { kubeconfig: [second], certFile: join(directory, "me.crt"), keyFile: join(directory, "me.key") },
      "https://second:6443",
      "certificate the certificate the key, token second-token",
      "the CA",
    ],
    [
      "a server and no kubeconfig",
      { server: "https://x:1", token: "t", home, ...insecure },
      "https://x:1",
      "token t",
      "none",
    ],
    ["a server without TLS", { server: "http://x:1", ...insecure }, "http://x:1", "nothing", "none"],
    [
      "the home directory",
      { home, inCluster: { host: "10.0.0.1", port: "443" } },
      "https://home:6443",
      "token home-token",
      "none",
    ],
    [
      "the pod's account",
      { home: directory, inCluster: { host: "10.0.0.1", port: "443" }, serviceAccountDirectory: account },
      "https://10.0.0.1:443",
      "token pod-token",
      "the pod's CA",
    ],
    [
      "the pod's account over IPv6",
      { inCluster: { host: "fd00::1", port: "443" }, serviceAccountDirectory: account },
      "https://[fd00::1]:443",
      "token pod-token",
      "the pod's CA",
    ],
  ];

for (const [what, settings, server, credentials, ca] of ROWS) {
  test(`loadKubeConfig() takes ${what}`, async () => {
    const config = await loadKubeConfig({ type: "kubernetes", ...settings });
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    const { Authorization } = (options.headers ?? {}) as Readonly<Record<string, string | undefined>>;
    const token = Authorization?.replace("Bearer ", "").trim();
    const [certificate, key] = [options.cert, options.key].map((pem) => (pem as Buffer | undefined)?.toString());
    const found = [
      ...(certificate === undefined ? [] : [`certificate ${certificate} ${key ?? ""}`]),
      ...(token === undefined ? [] : [`token ${token}`]),
    ];
    assert.equal(config.getCurrentCluster()?.server.replace(/\/$/, ""), server);
    assert.equal(found.join(", ") || "nothing", credentials);
    assert.equal(options.ca === undefined ? "none" : String(options.ca), ca);
  });
}

const BAD: readonly (readonly [what: string, settings: Settings, message: RegExp])[] = [
  ["no kubeconfig outside a pod", { home: directory }, /no kubeconfig, no K8S_API_ENDPOINT, and this is no pod/],
  ["files that are not there", { kubeconfig: ["/no/a", "/no/b"] }, /There is no kubeconfig at \/no\/a or \/no\/b/],
  ["a context that is not there", { kubeconfig: [second], context: "x" }, /has no context "x"/],
  ["a file without a current context", { kubeconfig: [first] }, /no current context/],
  [
    "a broken kubeconfig",
    { kubeconfigInline: "clusters: [{}]" },
    /Cannot read the inline kubeconfig: clusters\[0\].name is missing/,
  ],
  ["plain HTTP", { server: "http://x:1" }, /without TLS/],
];

for (const [what, settings, message] of BAD) {
  test(`loadKubeConfig() refuses ${what}`, async () => {
    await assert.rejects(loadKubeConfig({ type: "kubernetes", ...settings }), {
      code: "DATASTORE_BAD_CONFIG",
      message,
    });
  });
}

test("access() gives the token of the moment, and connections that are kept while the certificates stay", async () => {
  const clock = new ManualClock();
  const certFile = join(directory, "renewed.crt");
  writeFileSync(certFile, "old");
  const connection = await KubeConnection.open(
    { type: "kubernetes", server: "https://x/y/", certFile, keyFile: join(directory, "me.key") },
    clock,
  );
  const before = await connection.access();
  assert.equal(before.server, "https://x/y");
  assert.equal((await connection.access()).agent, before.agent);
  writeFileSync(certFile, "new");
  assert.notEqual((await connection.access()).agent, before.agent);
  connection.close();
});

test("refused() reads the settings again, but not all the time", async () => {
  const clock = new ManualClock();
  const file = kubeconfig("renewed", "https://x", { token: "old" });
  const connection = await KubeConnection.open({ type: "kubernetes", kubeconfig: [file] }, clock);
  const authorization = async (): Promise<string | undefined> => (await connection.access()).headers["Authorization"];
  writeFileSync(
    file,
    JSON.stringify({
      ...(JSON.parse(readFileSync(file, "utf8")) as object),
      users: [{ name: "renewed", user: { token: "new" } }],
    }),
  );
  await connection.refused();
  assert.equal(await authorization(), "Bearer old");
  await clock.advance(10_000);
  await connection.refused();
  assert.equal(await authorization(), "Bearer new");
  connection.close();
});

test("kubernetesConfigFromEnvironment() reads each setting, with its prefix first", () => {
  assert.deepEqual(
    kubernetesConfigFromEnvironment({
      KUBECONFIG: "/a:/b:",
      CALICO_K8S_API_ENDPOINT: "https://calico",
      K8S_API_ENDPOINT: "https://bare",
      K8S_KEY_FILE: "/k",
      K8S_CERT_FILE: "/c",
      CALICO_K8S_CA_FILE: "/ca",
      K8S_INSECURE_SKIP_TLS_VERIFY: "true",
      K8S_CURRENT_CONTEXT: "x",
      K8S_CLIENT_QPS: "20.5",
      K8S_CLIENT_BURST: "0",
      CALICO_API_GROUP: "projectcalico.org/v3",
      USE_POD_CIDR: "true",
      FELIX_INTERFACEPREFIX: "eni",
      HOME: "/root",
      KUBERNETES_SERVICE_HOST: "10.96.0.1",
      KUBERNETES_SERVICE_PORT: "6443",
    }),
    {
      type: "kubernetes",
      usePodCIDR: true,
      kubeconfig: ["/a", "/b"],
      home: "/root",
      inCluster: { host: "10.96.0.1", port: "6443" },
      server: "https://calico",
      keyFile: "/k",
      certFile: "/c",
      caFile: "/ca",
      insecureSkipTlsVerify: true,
      context: "x",
      qps: 20.5,
      apiGroup: "projectcalico.org/v3",
      interfacePrefix: "eni",
    },
  );
  assert.deepEqual(kubernetesConfigFromEnvironment({}), { type: "kubernetes", usePodCIDR: false });
});

for (const [env, message] of [
  [{ K8S_API_ENDPOINT: "nowhere" }, /K8S_API_ENDPOINT is "nowhere"/],
  [{ K8S_CLIENT_QPS: "-1" }, /K8S_CLIENT_QPS is "-1"/],
  [{ K8S_CLIENT_BURST: "many" }, /K8S_CLIENT_BURST is "many"/],
  [{ CALICO_API_GROUP: "v3" }, /CALICO_API_GROUP is "v3"/],
] as const) {
  test(`kubernetesConfigFromEnvironment() refuses ${JSON.stringify(env)}`, () => {
    assert.throws(() => kubernetesConfigFromEnvironment(env), { code: "DATASTORE_BAD_CONFIG", message });
  });
}
