export { type Agent, type AgentOptions, createAgent, EXIT_RESTART } from "./agent.ts";
export { type ChangeTakenBy, settingChange } from "./config/config-change.ts";
export { DEFAULT_CONFIG_FILE, FELIX_CONFIG, FELIX_PREFIX, type FelixConfig } from "./config/felix-config.ts";
export { type DaemonOptions, runDaemon } from "./daemon.ts";
export type { Source, SourceCallbacks, SourceFactory, SourceReport } from "./source/source.ts";
