import { agentChaos } from "./agent-chaos.ts";
import { agentKill } from "./agent-kill.ts";
import { bareHost } from "./bare-host.ts";
import { cluster } from "./cluster.ts";
import { coldStart } from "./cold-start.ts";
import { datastoreChurn } from "./datastore-churn.ts";
import { datastoreDegraded } from "./datastore-degraded.ts";
import { datastoreSame } from "./datastore-same.ts";
import { direct } from "./direct.ts";
import { limits } from "./limits.ts";
import { liveConfig } from "./live-config.ts";
import { operations } from "./operations.ts";
import { oracleKernel } from "./oracle-kernel.ts";
import { oracleVxlan } from "./oracle-vxlan.ts";
import { policyOnly } from "./policy-only.ts";
import { randomKernel } from "./random-kernel.ts";
import { rollingRestart } from "./rolling-restart.ts";
import { semanticsKernel } from "./semantics-kernel.ts";
import type { Scenario } from "./scenario.ts";
import { soak } from "./soak.ts";
import { staleTypha } from "./stale-typha.ts";
import { tunnelAddress } from "./tunnel-address.ts";
import { typhaChaos } from "./typha-chaos.ts";
import { typhaChaosProcesses } from "./typha-chaos-processes.ts";
import { typhaKill } from "./typha-kill.ts";

/** Every scenario, in the order in which `--list` shows them. */
export const SCENARIOS: readonly Scenario[] = [
  oracleKernel,
  oracleVxlan,
  semanticsKernel,
  randomKernel,
  agentKill,
  agentChaos,
  coldStart,
  bareHost,
  liveConfig,
  direct,
  policyOnly,
  tunnelAddress,
  typhaKill,
  rollingRestart,
  staleTypha,
  typhaChaos,
  typhaChaosProcesses,
  datastoreChurn,
  datastoreSame,
  datastoreDegraded,
  limits,
  cluster,
  operations,
  soak,
];
