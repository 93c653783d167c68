import { systemClock } from "@bulrush/base";
import { collectGarbage, growHeapBy } from "@bulrush/base/heap";
import {
  type InspectableDataplane,
  readTrackedFlows,
  readWireguardDevices,
  startDataplaneWorker,
} from "@bulrush/dataplane";
import { openStatusStore } from "@bulrush/datastore";
import { openNftConnection } from "@bulrush/nftables";
import {
  createLogger,
  createShutdown,
  HealthAggregator,
  liveLog,
  liveServer,
  type LoadedConfig,
  type Logger,
  openLog,
  readSettingsFile,
  serveHealth,
  settle,
  startMetrics,
  switchableLogger,
  type TriedSettings,
  waitForSlowAddresses,
} from "@bulrush/service";
import { serveAdminSocket } from "./admin/admin-socket.ts";
import { FlowRing } from "./admin/flow-ring.ts";
import { type Agent, type AgentListener, createAgent } from "./agent.ts";
import { DEFAULT_CONFIG_FILE, type FelixConfig, loadFelixConfig, type LocalSources } from "./config/felix-config.ts";
import { collectAfterStart } from "./heap/collect-after-start.ts";
import { registerRuleMetrics } from "./report/rule-metrics.ts";
import { chooseSource } from "./source/choose-source.ts";
import { datastoreOf } from "./source/datastore-writer.ts";
import { StateStore } from "./state/state-store.ts";
import { StatusReporter } from "./status/status-reporter.ts";
import { registerWireguardMetrics } from "./report/wireguard-metrics.ts";
import { machineArrivals, tunnelAddresses, wireguardKeys } from "./tunnel/start-tunnel-addresses.ts";

const PROGRAM = "bulrush-agent";
const STOP_TIMEOUT_MS = 10_000;

/** With 250,000 endpoints a start takes 90 MB less at its highest, for a twelfth more CPU; at rest it costs nothing. */
const HEAP_GROWTH_PERCENT = 40;

/** Where local settings come from. */
export interface DaemonOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Default /etc/calico/felix.cfg; it may be missing. */
  readonly configFile?: string | undefined;
}

/**
 * The life of the agent's process; resolves with its exit code: 0 after a signal, 129 for "start me again", 1 when the
 * dataplane ended. Bad settings never end it: it says what is wrong (in the log and in its readiness) and reads them
 * again every second.
 *
 * Order: log, health, settings, metrics, source, graph, dataplane; and back. Health comes first, so that a probe gets
 * words instead of a closed port.
 */
export async function runDaemon(options: DaemonOptions): Promise<number> {
  growHeapBy(HEAP_GROWTH_PERCENT);
  waitForSlowAddresses();
  const clock = systemClock({ keepAlive: true });
  const early = switchableLogger(createLogger({ program: PROGRAM, outputs: [{ to: "stdout", level: "info" }] }));
  // Left alone, the runtime would open its debugger's port, to every process of the host.
  process.on("SIGUSR1", () => early.warn("SIGUSR1: there is no heap profile to write"));
  const shutdown = createShutdown({ logger: early, clock, timeoutMs: STOP_TIMEOUT_MS });
  const health = new HealthAggregator(clock);
  const startup = health.register("FelixStartup");
  startup.report({ live: true, ready: false, detail: "reading the settings" });

  const healthServer = liveServer<HealthSettings>(({ HealthEnabled, HealthHost: host, HealthPort: port }) =>
    HealthEnabled ? serveHealth({ health, host, port, clock, logger: early }) : undefined,
  );
  shutdown.onStop("health server", () => healthServer.close());
  const settled = await settle({
    clock,
    logger: early,
    signal: shutdown.signal,
    read: () => readSettings(options),
    // The log last: nothing closes it when something after it fails.
    make: ({ loaded }) => ({
      source: chooseSource({ config: loaded.values, env: options.env, clock, random: Math.random, logger: early }),
      logger: openLog(PROGRAM, loaded, early),
    }),
    onTry({ loaded }, problems) {
      // What the datastore says of it is not known yet: one that is switched off here may come later.
      if (loaded.values.HealthEnabled) healthServer.update(healthSettings(loaded.values));
      if (problems !== "") startup.report({ live: true, ready: false, detail: `bad settings: ${problems}` });
    },
  });
  if (settled === undefined) return shutdown.done;

  const { loaded, local } = settled.settings;
  const { source } = settled.made;
  const logger = early;
  const config = loaded.values;
  const log = liveLog(PROGRAM, early, { log: settled.made.logger, loaded });
  // Also where the process ends in another way than it should.
  process.once("exit", () => log.flush());
  for (const warning of loaded.warnings) logger.warn("Setting", { ...warning });
  const settings = Object.fromEntries(
    [...loaded.origins].map(([name, { source: from, text }]) => [name, `${text} (${from})`]),
  );
  logger.info("Starting", { hostname: config.FelixHostname, settings });

  const started = startMetrics(config, { clock, logger });
  shutdown.onStop("metrics server", () => started.close());
  shutdown.onStop("rule counters", registerRuleMetrics(started.metrics, logger));
  let inForce = config;
  const { metrics } = started;
  registerWireguardMetrics({ metrics, logger, settings: () => inForce, readDevices: readWireguardDevices });
  const state =
    config.StateDir === ""
      ? undefined
      : new StateStore({ directory: config.StateDir, hostname: config.FelixHostname, clock, logger });
  const flows = new FlowRing();
  let dataplane: InspectableDataplane | undefined;
  let logsFlows = false;
  const running: { agent?: Agent } = {};
  if (config.AdminSocketPath !== "")
    shutdown.onStop(
      "admin socket",
      serveAdminSocket({
        path: config.AdminSocketPath,
        clock,
        logger,
        inspect: () => dataplane?.inspect(),
        report: () => running.agent?.report(),
        explain: (flow) => running.agent?.explain(flow),
        staged: () => running.agent?.staged(readTrackedFlows()),
        flows: () => (logsFlows ? flows : undefined),
      }),
    );
  const reporter = new StatusReporter({
    hostname: config.FelixHostname,
    clock,
    random: Math.random,
    logger,
    settings: config,
    open: async () => openStatusStore(datastoreOf(config, options.env), { clock, logger }),
  });
  shutdown.onStop("status reports", () => reporter.stop());
  const listeners: AgentListener[] = [
    { onSettings: (now) => reporter.update(now), onDataplane: (message) => reporter.onDataplane(message) },
    collectAfterStart(clock, collectGarbage),
  ];
  const keys = wireguardKeys({ config, env: options.env, clock, logger });
  shutdown.onStop("WireGuard keys", () => keys.stop());
  listeners.push({ onDataplane: (message) => keys.onDataplane(message) });
  const arrivals = machineArrivals({ config, env: options.env, clock, logger });
  shutdown.onStop("machine arrivals", () => arrivals.stop());
  listeners.push({ onDataplane: (message) => arrivals.onDataplane(message) });
  if (config.TunnelAddresses === "Enabled") {
    const addresses = tunnelAddresses({ config, env: options.env, clock, logger, metrics: started.metrics });
    shutdown.onStop("tunnel addresses", () => addresses.stop());
    listeners.push(addresses);
  }
  const agent = createAgent({
    config,
    local,
    source,
    async startDataplane(parameters, events) {
      logsFlows = parameters.settings.get("FlowLogsLocalReporter") === "Enabled";
      dataplane = await startDataplaneWorker(parameters, { ...events, onFlows: (batch) => flows.add(batch) });
      return dataplane;
    },
    clock,
    random: Math.random,
    logger,
    log,
    health,
    metrics: started.metrics,
    shutdown,
    state,
    listeners,
    hasRules: () => kernelHasRules(logger),
    onSettings(now) {
      inForce = now.values;
      log.update(now);
      started.update(now.values);
      healthServer.update(healthSettings(now.values));
    },
  });
  running.agent = agent;
  shutdown.onStop("agent", () => agent.stop());
  void agent.start();
  startup.report({ live: true, ready: true, detail: "started" });
  return shutdown.done;
}

type HealthSettings = Pick<FelixConfig, "HealthEnabled" | "HealthHost" | "HealthPort">;

function healthSettings({ HealthEnabled, HealthHost, HealthPort }: FelixConfig): HealthSettings {
  return { HealthEnabled, HealthHost, HealthPort };
}

/** Where it cannot be seen, as if there were some: then the sources are waited for. */
function kernelHasRules(logger: Logger): boolean {
  try {
    const nft = openNftConnection();
    try {
      return nft.readTable("ip", "calico") !== undefined;
    } finally {
      nft.close();
    }
  } catch (error) {
    logger.warn("Look for rules in the kernel", { error });
    return true;
  }
}

interface ReadSettings extends TriedSettings {
  readonly local: LocalSources;
  readonly loaded: LoadedConfig<FelixConfig>;
}

function readSettings(options: DaemonOptions): ReadSettings {
  const fileName = options.configFile ?? DEFAULT_CONFIG_FILE;
  const file = readSettingsFile(fileName);
  const local: LocalSources = { env: options.env, fileText: file.text, fileName };
  const loaded = loadFelixConfig(local);
  return { local, loaded, problems: [...file.problems, ...loaded.errors.map(({ message }) => message)] };
}
