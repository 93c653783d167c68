/** Every metric that a dashboard or an alert asks for is on the page of the process. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { freePorts } from "../kube/free-ports.ts";
import { labTests } from "../lab/lab-test.ts";
import { LabNetwork } from "../lab/network.ts";
import { Program } from "../lab/program.ts";
import { buildKustomization } from "./kustomize.ts";
import { KUSTOMIZE } from "./variants.ts";
import { find } from "./workload.ts";

const OBJECTS = buildKustomization(join(KUSTOMIZE, "overlays", "full"));
const NAME = /\b(?:typha|felix|bulrush|process|nodejs)_[a-z_]+\b/g;
/** What stands where a metric does. */
const NO_METRICS: ReadonlySet<string> = new Set(["process_metrics"]);

/** What Felix and Typha serve, but for what belongs to the devices of WireGuard. */
const REFERENCE_METRICS: readonly string[] = [
  "felix_host",
  "felix_resync_state",
  "felix_resyncs_started",
  "felix_log_errors",
  "felix_logs_dropped",
  ...["endpoints", "policies", "selectors"].map((name) => `felix_active_local_${name}`),
  ...["output_events", "update_time_seconds", "updates_processed"].map((name) => `felix_calc_graph_${name}`),
  ...["hosts", "host_endpoints", "workload_endpoints", "tiers", "policies", "profiles"].map(
    (name) => `felix_cluster_num_${name}`,
  ),
  ...["failures", "messages", "initial_resync_time_seconds", "apply_time_seconds", "msg_batch_size"].map(
    (name) => `felix_int_dataplane_${name}`,
  ),
  ...["iface", "addr"].map((name) => `felix_int_dataplane_${name}_msg_batch_size`),
  ...[
    "calls",
    "errors",
    "list_calls",
    "list_errors",
    "set_calls",
    "set_errors",
    "chains",
    "rules",
    "sets",
    "maps",
    "flowtable_devices",
    "flowtable_missing_devices",
  ].map((name) => `felix_nft_${name}`),
  "felix_ipsets_calico",
  "felix_ipsets_total",
  ...["resync_seconds", "partial_resync_seconds", "conntrack_wait_seconds", "num_routes", "num_ifaces"].map(
    (name) => `felix_route_table_${name}`,
  ),
  ...["accepted", "active", "dropped", "streaming", "grace_used"].map((name) => `typha_connections_${name}`),
  ...["latency", "snapshot_send", "write_latency"].map((name) => `typha_client_${name}_secs`),
  ...["next_breadcrumb_latency_secs", "ping_latency", "kvs_per_msg", "updates_total", "updates_skipped"].map(
    (name) => `typha_${name}`,
  ),
  ...["seq_number", "block", "non_block", "size"].map((name) => `typha_breadcrumb_${name}`),
  ...["cache_size", "snapshots_generated", "snapshots_reused", "snapshot_raw_bytes", "snapshot_compressed_bytes"].map(
    (name) => `typha_${name}`,
  ),
  ...["logs_dropped", "log_errors"].map((name) => `typha_${name}`),
];

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

function alerts(): readonly Rule[] {
  const { groups } = find(OBJECTS, "PrometheusRule", "bulrush")["spec"] as {
    groups: readonly { rules: readonly Rule[] }[];
  };
  return groups.flatMap(({ rules }) => rules);
}

/** All expressions of a dashboard, by the title of their panel. */
function expressions(name: string): readonly (readonly [title: string, expr: string])[] {
  const data = find(OBJECTS, "ConfigMap", "grafana-dashboards-config")["data"] as Readonly<Record<string, string>>;
  const { panels } = JSON.parse(data[name] ?? "") as {
    panels: readonly { title: string; targets?: readonly { expr: string }[] }[];
  };
  return panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const));
}

labTests(import.meta.filename, () => {
  const pages = new Map<string, ReadonlySet<string>>();
  const programs: Program[] = [];
  let directory = "";

  /** The names on a page; without those of buckets, which belong to a histogram. */
  const readPage = async (port: number): Promise<ReadonlySet<string>> => {
    for (const endMs = performance.now() + 300_000; ; ) {
      try {
        const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
        return new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = ""]) => name));
      } catch (error) {
        if (performance.now() > endMs) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };

  before(async () => {
    // Before it there is no loopback device that is up.
    new LabNetwork();
    directory = mkdtempSync(join(tmpdir(), "bulrush-metrics-"));
    const [sync = 0, typha = 0, agent = 0] = await freePorts(3);
    const quiet = { LOGFILEPATH: "none", PROMETHEUSMETRICSENABLED: "true" };
    const env = (prefix: string, more: Readonly<Record<string, string>>): Record<string, string> =>
      Object.fromEntries(Object.entries({ ...quiet, ...more }).map(([name, value]) => [`${prefix}${name}`, value]));
    programs.push(
      Program.start({
        name: "bulrush-typha",
        logFile: join(directory, "typha.log"),
        env: {
          DATASTORE_TYPE: "file",
          BULRUSH_DATASTORE_DIR: directory,
          // Nobody is there either: it cannot count the others, and has the metrics that say so.
          KUBERNETES_SERVICE_HOST: "127.0.0.1",
          KUBERNETES_SERVICE_PORT: "1",
          ...env("TYPHA_", {
            SERVERPORT: String(sync),
            PROMETHEUSMETRICSPORT: String(typha),
            ADMINPORT: "0",
            CONNECTIONREBALANCINGMODE: "kubernetes",
          }),
        },
      }),
      Program.start({
        name: "bulrush-agent",
        logFile: join(directory, "agent.log"),
        // Nobody is there: metrics come before that matters.
        env: env("FELIX_", { TYPHAADDR: "127.0.0.1:1", PROMETHEUSMETRICSPORT: String(agent), STATEDIR: directory }),
      }),
    );
    pages.set("calico-typha", await readPage(typha));
    pages.set("bulrush-agent", await readPage(agent));
  });
  after(async () => {
    await Promise.all(programs.map((program) => program.stop("SIGKILL")));
    rmSync(directory, { recursive: true });
  });

  test("every metric of the reference system is there, or the documentation says why not", () => {
    const page = readFileSync(join(import.meta.dirname, "..", "..", "..", "docs", "from-calico.md"), "utf8");
    const section = /^## Metrics that are not here\n([^]*?)^## /m.exec(page)?.[1] ?? "";
    const firstCells = section.split("\n").map((line) => /^\| (`[^|]*) \|/.exec(line)?.[1] ?? "");
    const absent = firstCells.join();
    const served = new Set([...pages.values()].flatMap((names) => [...names]));
    for (const name of REFERENCE_METRICS)
      assert.equal(
        absent.includes(`\`${name}\``),
        !served.has(name),
        `${name} is served, or it is in the list, not both`,
      );
  });

  /** @throws AssertionError where nobody has it, or not those that are asked. */
  const check = (expr: string, where: string, job?: string): void => {
    const names = (expr.match(NAME) ?? []).filter((name) => !NO_METRICS.has(name));
    for (const name of names) {
      const bare = name.replace(/_(?:bucket|sum|count)$/, "");
      const homes = [...pages].filter(([, page]) => page.has(name) || page.has(bare)).map(([home]) => home);
      assert.ok(homes.length > 0, `${where}: ${name} is nowhere`);
      if (job !== undefined) assert.ok(homes.includes(job), `${where}: ${name} is not a metric of ${job}`);
    }
  };

  test("the dashboards ask for metrics that are there", () => {
    for (const [name, job] of [
      ["calico-typha.json", "calico-typha"],
      ["calico-felix.json", "bulrush-agent"],
    ] as const) {
      const all = expressions(name);
      assert.ok(all.length > 20, name);
      for (const [title, expr] of all) check(expr, title, job);
    }
  });

  test("the alerts ask for metrics that are there, say what is wrong, and how bad it is", () => {
    const all = alerts();
    assert.ok(all.length > 15);
    assert.equal(new Set(all.map(({ alert }) => alert)).size, all.length);
    for (const { alert, expr, annotations, labels } of all) {
      check(expr, alert);
      assert.ok(annotations["summary"], alert);
      assert.match(labels["severity"] ?? "", /^(?:critical|warning|info)$/, alert);
      for (const [, job = ""] of expr.matchAll(/job="([^"]+)"/g)) assert.ok(pages.has(job), `${alert}: ${job}`);
    }
  });

  test("labels by which alerts choose have these values in the code", () => {
    const source = (path: string): string =>
      readFileSync(join(import.meta.dirname, "..", "..", "..", "packages", path), "utf8");
    const text = alerts()
      .map(({ expr }) => expr)
      .join("\n");
    for (const [, code = ""] of text.matchAll(/code="([^"]+)"/g))
      assert.ok(
        source("typha/src/server/sync-server.ts").includes(`"${code}"`) ||
          source("typha/src/server/listener.ts").includes(`"${code}"`),
        code,
      );
    for (const [, result = ""] of text.matchAll(/result="([^"]+)"/g))
      assert.ok(source("typha/src/server/server-metrics.ts").includes(`"${result}"`), result);
  });
});
