import type { CalcGraph } from "@bulrush/calc";
import type { DataplaneCounters } from "@bulrush/dataplane";
import type { SyncStatus, Update } from "@bulrush/model";
import type { ToDataplane } from "@bulrush/proto";
import type { Metrics } from "@bulrush/service";
import type { StateReport } from "../state/state-store.ts";

/** What the agent counts. */
export interface AgentMetrics {
  onProcessed(updates: readonly Update[], tookMs: number): void;
  onFlushed(messages: readonly ToDataplane[]): void;
  onStatus(status: SyncStatus): void;
  onInvalid(): void;
}

export interface MetricSources {
  /** Undefined before the dataplane has said anything. */
  dataplane(): DataplaneCounters | undefined;
  /** Undefined before the graph runs. */
  graph(): CalcGraph["stats"] | undefined;
  /** What this host has; undefined before the dataplane runs. */
  local(): { readonly endpoints: number; readonly policies: number; readonly ipSets: number } | undefined;
  /** Of what is saved; undefined where nothing is. */
  state(): StateReport | undefined;
  connected(): boolean;
  logErrors(): number;
  logDropped(): number;
}

const STATUS_NUMBER: Readonly<Record<SyncStatus, number>> = { "wait-for-ready": 1, resync: 2, "in-sync": 3 };
const FAMILIES = ["ip", "ip6"] as const;

/** Registers the metrics, under upstream's names where it has them. */
export function registerAgentMetrics(metrics: Metrics, hostname: string, sources: MetricSources): AgentMetrics {
  metrics
    .gaugeFamily({ name: "felix_host", help: "Host of this agent, 1", labels: ["host"] })
    .with({ host: hostname })
    .set(1);
  metrics.counterFrom({ name: "felix_log_errors", help: "Lines of severity error and above" }, () =>
    sources.logErrors(),
  );
  metrics.counterFrom({ name: "felix_logs_dropped", help: "Log lines dropped because an output was blocked" }, () =>
    sources.logDropped(),
  );
  metrics.gaugeFrom(
    { name: "bulrush_source_connected", help: "1 while changes of the datastore would reach the agent" },
    () => Number(sources.connected()),
  );
  metrics.gaugeFrom(
    { name: "bulrush_state_saved", help: "1 while what the agent knows is kept for the next start" },
    () => Number(sources.state()?.saving ?? false),
  );
  metrics.gaugeFrom(
    { name: "bulrush_state_bytes", help: "Size of what is kept for the next start" },
    () => sources.state()?.bytes ?? 0,
  );
  const local = { endpoints: "endpoints", policies: "policies", selectors: "ipSets" } as const;
  for (const [name, what] of Object.entries(local))
    metrics.gaugeFrom(
      { name: `felix_active_local_${name}`, help: `On this host: ${name}` },
      () => sources.local()?.[what] ?? 0,
    );
  registerDataplane(metrics, () => sources.dataplane());
  registerCluster(metrics, () => sources.graph());

  const processed = metrics.counterFamily({
    name: "felix_calc_graph_updates_processed",
    help: "Updates given to the calculation graph, by type of key",
    labels: ["type"],
  });
  const updateTime = metrics.summary({
    name: "felix_calc_graph_update_time_seconds",
    help: "Time to process a batch of updates, in seconds",
  });
  const output = metrics.counter({
    name: "felix_calc_graph_output_events",
    help: "Messages from the calculation graph",
  });
  const toDataplane = metrics.counterFamily({
    name: "felix_int_dataplane_messages",
    help: "Messages to the dataplane, by type",
    labels: ["type"],
  });
  const batchSize = metrics.summary({
    name: "felix_int_dataplane_msg_batch_size",
    help: "Messages that go to the dataplane at once",
  });
  const resyncState = metrics.gauge({
    name: "felix_resync_state",
    help: "1 waiting for the datastore, 2 resync, 3 in sync",
  });
  const resyncs = metrics.counter({ name: "felix_resyncs_started", help: "Resyncs with the datastore" });
  const invalid = metrics.counter({
    name: "bulrush_agent_invalid_updates",
    help: "Updates that the validation filter changed or held back",
  });
  return {
    onProcessed(updates, tookMs) {
      for (const { key } of updates) processed.with({ type: key.type }).inc();
      updateTime.observe(tookMs / 1000);
    },
    onFlushed(messages) {
      output.inc(messages.length);
      if (messages.length > 0) batchSize.observe(messages.length);
      for (const { msg } of messages) toDataplane.with({ type: msg }).inc();
    },
    onStatus(status) {
      resyncState.set(STATUS_NUMBER[status]);
      if (status === "resync") resyncs.inc();
    },
    onInvalid: () => invalid.inc(),
  };
}

function registerCluster(metrics: Metrics, read: () => CalcGraph["stats"] | undefined): void {
  const sizes = {
    felix_cluster_num_hosts: "hosts",
    felix_cluster_num_host_endpoints: "hostEndpoints",
    felix_cluster_num_workload_endpoints: "workloadEndpoints",
    felix_cluster_num_tiers: "tiers",
    felix_cluster_num_policies: "policies",
    felix_cluster_num_profiles: "profiles",
  } as const;
  for (const [name, what] of Object.entries(sizes))
    metrics.gaugeFrom({ name, help: `Cluster-wide: ${what}` }, () => read()?.[what] ?? 0);
}

function registerDataplane(metrics: Metrics, read: () => DataplaneCounters | undefined): void {
  const counter = (name: string, help: string, value: (counters: DataplaneCounters) => number): void => {
    metrics.counterFrom({ name, help }, () => valueOrZero(read(), value));
  };
  const gauge = (name: string, help: string, value: (counters: DataplaneCounters) => number): void => {
    metrics.gaugeFrom({ name, help }, () => valueOrZero(read(), value));
  };
  counter("bulrush_dataplane_applies", "Times that the dataplane wrote its state", (c) => c.applies);
  counter("felix_int_dataplane_failures", "Times that writing failed and is tried again", (c) => c.applyFailures);
  counter("felix_nft_calls", "nf_tables transactions that wrote something", (c) => c.nftTransactions);
  counter("felix_nft_list_calls", "Times that the whole nf_tables state was read back", (c) => c.nftReads);
  counter("bulrush_route_writes", "Routes and neighbours written or removed", (c) => c.routeWrites);
  gauge("felix_int_dataplane_apply_time_seconds", "Time of the last apply, in seconds", (c) => c.lastApplyMs / 1000);
  gauge("felix_nft_flowtable_devices", "Devices of the flow tables", (c) => c.flowtableDevices.present);
  gauge(
    "felix_nft_flowtable_missing_devices",
    "Devices that flow tables should have and the kernel has not",
    (c) => c.flowtableDevices.missing,
  );
  gauge(
    "felix_int_dataplane_initial_resync_time_seconds",
    "Time of the first apply, in seconds",
    (c) => c.firstApplyMs / 1000,
  );
  const gauges = {
    chains: "felix_nft_chains",
    rules: "felix_nft_rules",
    sets: "felix_nft_sets",
    routes: "bulrush_routes",
  } as const;
  for (const [what, name] of Object.entries(gauges) as [keyof typeof gauges, string][])
    metrics.gaugeFamilyFrom({ name, help: `Our ${what} in the kernel`, labels: ["ip_version"] }, () => {
      const counters = read();
      return FAMILIES.map((family) => [{ ip_version: family === "ip" ? "4" : "6" }, counters?.[what][family] ?? 0]);
    });
  metrics.gaugeFamilyFrom(
    { name: "felix_route_table_num_routes", help: "Our routes in the main table", labels: ["table"] },
    () =>
      FAMILIES.map((family) => [{ table: `${family === "ip" ? "IPv4" : "IPv6"}:254` }, read()?.routes[family] ?? 0]),
  );
  metrics.gaugeFamilyFrom({ name: "felix_ipsets_calico", help: "Our sets in the kernel", labels: ["ip_version"] }, () =>
    FAMILIES.map((family) => [{ ip_version: family === "ip" ? "inet" : "inet6" }, read()?.sets[family] ?? 0]),
  );
  metrics.counterFamilyFrom(
    {
      name: "bulrush_dataplane_drift_total",
      help: "Objects found different in the kernel and repaired",
      labels: ["kind"],
    },
    () => Object.entries(read()?.drift ?? {}).map(([kind, count]) => [{ kind }, count]),
  );
}

function valueOrZero(counters: DataplaneCounters | undefined, value: (counters: DataplaneCounters) => number): number {
  return counters === undefined ? 0 : value(counters);
}
