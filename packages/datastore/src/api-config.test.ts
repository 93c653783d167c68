import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readApiConfig } from "./api-config.ts";
import { datastoreConfigFromEnvironment } from "./config.ts";
import { DatastoreError } from "./errors.ts";

const FILE = "calicoctl.cfg";
const directory = mkdtempSync(join(tmpdir(), "api-config-"));
after(() => rmSync(directory, { recursive: true }));

function yaml(spec: string): string {
  const lines = spec.split("\n").map((line) => `  ${line}\n`);
  return `apiVersion: projectcalico.org/v3\nkind: CalicoAPIConfig\nmetadata:\nspec:\n${lines.join("")}`;
}

function refused(work: () => unknown, words: RegExp): void {
  assert.throws(work, (error: unknown) => {
    assert.ok(error instanceof DatastoreError);
    assert.equal(error.code, "DATASTORE_BAD_CONFIG");
    assert.match(error.message, words);
    return true;
  });
}

test("readApiConfig() reads every field about a Kubernetes API, and nothing of it from variables", () => {
  const spec = `datastoreType: kubernetes
kubeconfig: /a:/b
kubeconfigInline: "{}"
k8sAPIEndpoint: https://k:6443
k8sKeyFile: /k
k8sCertFile: /c
k8sCAFile: /ca
k8sAPIToken: abc
k8sInsecureSkipTLSVerify: true
k8sCurrentContext: here
k8sClientQPS: 7.5
k8sClientBurst: 9
usePodCIDR: true
calicoAPIGroup: projectcalico.org/v3`;
  const env = { K8S_CA_FILE: "/other", CALICO_K8S_CA_FILE: "/other", ETCD_ENDPOINTS: "http://e:1" };
  assert.deepEqual(readApiConfig(yaml(spec), FILE, env), {
    type: "kubernetes",
    kubeconfig: ["/a", "/b"],
    kubeconfigInline: "{}",
    server: "https://k:6443",
    keyFile: "/k",
    certFile: "/c",
    caFile: "/ca",
    token: "abc",
    insecureSkipTlsVerify: true,
    context: "here",
    qps: 7.5,
    burst: 9,
    usePodCIDR: true,
    apiGroup: "projectcalico.org/v3",
  });
});

test("readApiConfig() reads every field about etcd, in JSON too", () => {
  const common = { etcdUsername: "u", etcdPassword: "p", usePodCIDR: false, k8sAPIEndpoint: null, kubeconfig: "" };
  const files = { etcdKeyFile: "/k", etcdCertFile: "/c", etcdCACertFile: "/ca" };
  const json = (spec: object): string =>
    JSON.stringify({ apiVersion: "projectcalico.org/v3", kind: "CalicoAPIConfig", metadata: { name: "x" }, spec });
  assert.deepEqual(
    readApiConfig(json({ ...common, ...files, etcdEndpoints: "https://a:2379, https://b:2379" }), FILE, {}),
    {
      type: "etcdv3",
      endpoints: ["https://a:2379", "https://b:2379"],
      username: "u",
      password: "p",
      keyFile: "/k",
      certFile: "/c",
      caFile: "/ca",
      usePodCIDR: false,
    },
  );
  const texts = { etcdKey: "KEY", etcdCert: "CERT", etcdCACert: "CA" };
  assert.deepEqual(
    readApiConfig(json({ datastoreType: "etcdv3", etcdDiscoverySrv: "lab.example", ...texts }), FILE, {}),
    {
      type: "etcdv3",
      discoverySrv: "lab.example",
      keyPem: "KEY",
      certPem: "CERT",
      caPem: "CA",
      usePodCIDR: false,
    },
  );
});

test("readApiConfig() of a file that says nothing is the pod's own account, which only the process knows", () => {
  const env = {
    HOME: "/h",
    KUBERNETES_SERVICE_HOST: "10.96.0.1",
    FELIX_INTERFACEPREFIX: "eni",
    ETCD_ENDPOINTS: "http://e:1",
  };
  const wanted = {
    type: "kubernetes",
    home: "/h",
    inCluster: { host: "10.96.0.1", port: "443" },
    interfacePrefix: "eni",
    usePodCIDR: false,
  };
  assert.deepEqual(readApiConfig("apiVersion: projectcalico.org/v3\nkind: CalicoAPIConfig\n", FILE, env), wanted);
});

const REFUSED: readonly (readonly [what: string, contents: string, words: RegExp])[] = [
  ["another kind", "apiVersion: v1\nkind: Config\n", /calicoctl\.cfg: apiVersion and kind are "v1" "Config", expected/],
  ["no object", "- a\n", /has no CalicoAPIConfig in it/],
  ["nothing", "", /has no CalicoAPIConfig in it/],
  ["no YAML", "a: [", /is no YAML or JSON/],
  ["a name twice", yaml("etcdUsername: a\netcdUsername: b"), /is no YAML or JSON: .*\(line 6\)$/],
  [
    "an unknown field",
    yaml("etcdEndpoint: http://a:1"),
    /spec\.etcdEndpoint: there is no such field; is it etcdEndpoints\?/,
  ],
  ["a field that objects have", yaml("constructor: a"), /spec\.constructor: there is no such field/],
  ["an unknown field beside the spec", `${yaml("etcdUsername: a")}status: {}\n`, /: status: there is no such field/],
  [
    "a spec that is none",
    "apiVersion: projectcalico.org/v3\nkind: CalicoAPIConfig\nspec: 5\n",
    /spec: expected an object/,
  ],
  ["a number for a text", yaml("etcdPassword: 1234567"), /spec\.etcdPassword: expected a text \(put it in quotes\)$/],
  ["a text for a truth", yaml('usePodCIDR: "yes"'), /spec\.usePodCIDR: expected true or false/],
  ["a text for a number", yaml('k8sClientQPS: "5"'), /spec\.k8sClientQPS: expected a number/],
  ["a negative number", yaml("k8sClientQPS: -5"), /spec\.k8sClientQPS is "-5", expected a number that is not negative/],
  ["another type", yaml("datastoreType: mysql"), /spec\.datastoreType is "mysql", expected "kubernetes" or "etcdv3"/],
  ["no URL", yaml("k8sAPIEndpoint: here"), /spec\.k8sAPIEndpoint is "here", expected a URL/],
  ["another group", yaml("calicoAPIGroup: x/v1"), /spec\.calicoAPIGroup is "x\/v1", expected/],
  // Acceptance row F5, as far as only a file can say it.
  [
    "endpoints and SRV",
    yaml("datastoreType: etcdv3\netcdEndpoints: http://a:1\netcdDiscoverySrv: b"),
    /spec\.etcdEndpoints and spec\.etcdDiscoverySrv are both set/,
  ],
  ["neither", yaml("datastoreType: etcdv3"), /Neither spec\.etcdEndpoints nor spec\.etcdDiscoverySrv says/],
  [
    "inline and files",
    yaml("etcdEndpoints: https://a:1\netcdKey: k\netcdCert: c\netcdCACertFile: /ca"),
    /both as text \(etcdKey, etcdCert, etcdCACert\) and as files/,
  ],
  [
    "an inline certificate without a key",
    yaml("etcdEndpoints: https://a:1\netcdCert: c"),
    /etcdKey and etcdCert are needed both/,
  ],
];

for (const [what, contents, words] of REFUSED) {
  test(`readApiConfig() refuses ${what}`, () => {
    refused(() => readApiConfig(contents, FILE, {}), words);
  });
}

test("readApiConfig() tells no secret", () => {
  for (const field of ["etcdPassword", "etcdKey", "k8sAPIToken", "kubeconfigInline"]) {
    assert.throws(
      () => readApiConfig(yaml(`${field}: 98765`), FILE, {}),
      (error: Error) => !`${error.message} ${JSON.stringify(error)}`.includes("98765"),
    );
  }
});

test("datastoreConfigFromEnvironment() takes all of it from the file that BULRUSH_DATASTORE_CONFIG names", () => {
  const file = join(directory, "calicoctl.cfg");
  writeFileSync(file, yaml("datastoreType: etcdv3\netcdEndpoints: http://a:2379"));
  const env = {
    BULRUSH_DATASTORE_CONFIG: file,
    ETCD_ENDPOINTS: "http://b:2379",
    ETCD_USERNAME: "u",
    ETCD_PASSWORD: "p",
  };
  const wanted = { type: "etcdv3", endpoints: ["http://a:2379"], usePodCIDR: false };
  assert.deepEqual(datastoreConfigFromEnvironment(env, "TYPHA_"), wanted);
  assert.deepEqual(datastoreConfigFromEnvironment({ ...env, FELIX_DATASTORETYPE: "etcdv3" }, "FELIX_"), wanted);
  refused(
    () => datastoreConfigFromEnvironment({ ...env, TYPHA_DATASTORETYPE: "kubernetes" }, "TYPHA_"),
    /TYPHA_DATASTORETYPE is "kubernetes", but BULRUSH_DATASTORE_CONFIG names .*, which is about "etcdv3"/,
  );
  refused(
    () => datastoreConfigFromEnvironment({ ...env, BULRUSH_DATASTORE_DIR: "/d" }),
    /BULRUSH_DATASTORE_CONFIG and BULRUSH_DATASTORE_DIR are both set/,
  );
});

test("datastoreConfigFromEnvironment() names a file of settings that is not there, is none, or is too long", () => {
  const config = (file: string): unknown => datastoreConfigFromEnvironment({ BULRUSH_DATASTORE_CONFIG: file });
  refused(() => config(join(directory, "none")), /none: cannot be read: ENOENT/);
  mkdirSync(join(directory, "folder"));
  refused(() => config(join(directory, "folder")), /folder: cannot be read: it is no file/);
  const long = join(directory, "long");
  writeFileSync(long, " ".repeat((1 << 20) + 1));
  refused(() => config(long), /long: cannot be read: it has 1048577 bytes/);
});
