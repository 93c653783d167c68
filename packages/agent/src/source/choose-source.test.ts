import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { memoryLogger } from "@bulrush/service";
import { loadFelixConfig } from "../config/felix-config.ts";
import { chooseSource } from "./choose-source.ts";
import type { Source, SourceCallbacks, SourceFactory } from "./source.ts";

const callbacks: SourceCallbacks = { onUpdates: () => {}, onStatusUpdated: () => {}, onSequence: () => {} };

function factory(env: Record<string, string>, fileText?: string): SourceFactory {
  const config = loadFelixConfig({ env, fileText, fileName: "f" }).values;
  const options = { config, env, clock: new ManualClock(), random: () => 0, logger: memoryLogger() };
  return chooseSource(options);
}

function choose(env: Record<string, string>, fileText?: string): Source {
  return factory(env, fileText)(callbacks);
}

test("chooseSource() takes a Typha where one is set", () => {
  for (const address of ["typha:5473", "[fd00::1]:5473"])
    assert.equal(choose({ FELIX_TYPHAADDR: address, DATASTORE_TYPE: "kubernetes" }).report().detail, "stopped");
  const service = { FELIX_TYPHAK8SSERVICENAME: "calico-typha", DATASTORE_TYPE: "etcdv3", ETCD_ENDPOINTS: "http://e:1" };
  assert.equal(choose(service).report().detail, "stopped");
});

test("chooseSource() takes the datastore that the environment or the file names", () => {
  const detail = (env: Record<string, string>, fileText?: string): string => choose(env, fileText).report().detail;
  assert.match(detail({ DATASTORE_TYPE: "file", BULRUSH_DATASTORE_DIR: "/x" }), /^opening the file datastore/);
  assert.match(detail({ BULRUSH_DATASTORE_DIR: "/x", ETCD_ENDPOINTS: "http://e:1" }), /^opening the file datastore/);
  assert.match(detail({ ETCD_ENDPOINTS: "http://e:1" }), /^opening the etcdv3 datastore/);
  assert.match(detail({}), /^opening the kubernetes datastore/);
  assert.match(
    detail({ BULRUSH_DATASTORE_DIR: "/x" }, "DatastoreType = kubernetes"),
    /^opening the kubernetes datastore/,
  );
  assert.match(detail({ FELIX_DATASTORETYPE: "etcdv3", FELIX_ETCDADDR: "e:1" }), /^opening the etcdv3 datastore/);
});

test("chooseSource() refuses what its source could not use", () => {
  assert.throws(() => factory({ FELIX_TYPHAADDR: "typha:99999" }), { code: "SYNC_CLIENT_BAD_ADDRESS" });
  assert.throws(() => factory({ FELIX_TYPHAADDR: "typha:5473", FELIX_TYPHACN: "t" }), {
    code: "SYNC_CLIENT_TLS_INCOMPLETE",
  });
});

test("chooseSource() says what is missing", () => {
  assert.throws(() => choose({ DATASTORE_TYPE: "file" }), {
    code: "DATASTORE_BAD_CONFIG",
    message: /BULRUSH_DATASTORE_DIR/,
  });
  assert.throws(() => choose({ FELIX_TYPHAK8SSERVICENAME: "calico-typha", K8S_API_ENDPOINT: "no URL" }), {
    code: "DATASTORE_BAD_CONFIG",
    message: /K8S_API_ENDPOINT/,
  });
});
