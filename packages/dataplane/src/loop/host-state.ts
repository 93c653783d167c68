import type { Clock } from "@bulrush/base";
import type { ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { BgpPeerAddresses } from "../endpoint/bgp-peer-addresses.ts";
import { EndpointStatuses } from "../endpoint/endpoint-statuses.ts";
import { StatusFiles } from "../endpoint/status-files.ts";
import { IpipDevice } from "../tunnel/ipip-device.ts";
import { MtuFile } from "../tunnel/mtu-file.ts";
import { HostSysctls } from "../endpoint/host-sysctls.ts";
import { InterfaceSysctls } from "../endpoint/interface-sysctls.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import type { Manager } from "../manager/manager.ts";
import { RulesetManagers } from "../manager/ruleset-managers.ts";
import { FlowtableDevices } from "../offload/flowtable-devices.ts";
import { BandwidthManager } from "../qos/bandwidth-manager.ts";
import type { DeviceWork } from "../device/device-work.ts";
import type { FromDataplane } from "../status.ts";
import { WireguardDeviceManager } from "../wireguard/wireguard-device.ts";
import { LocalReachability } from "../reachability/local-reachability.ts";
import { WorkloadEndpoints } from "../manager/workload-endpoints.ts";
import { LiveMigrations } from "../route/live-migrations.ts";
import { RoutesManager } from "../route/routes-manager.ts";

/** Everything that is wanted of one host's kernel, worked out from messages and interfaces. */
export interface HostState extends Manager {
  readonly endpoints: WorkloadEndpoints;
  readonly ruleset: RulesetManagers;
  readonly routes: RoutesManager;
  /** Ahead of routes. */
  readonly peerAddresses: BgpPeerAddresses;
  /** In the order in which they are brought into the kernel, after routes. */
  readonly devices: readonly DeviceWork[];
  /** Among {@link devices}. */
  readonly offload: FlowtableDevices;
  readonly sysctls: InterfaceSysctls;
  readonly hostSysctls: HostSysctls;
  readonly statuses: EndpointStatuses;
  /** Something may have happened to the interface, though its state is the same as before. */
  touchInterface(name: string): void;
  /** What the process is to hear since the last call. */
  messages(): readonly FromDataplane[];
  /** Absent where no such files are wanted. */
  readonly statusFiles: StatusFiles | undefined;
  readonly mtuFile: MtuFile;
}

interface HostStateHooks {
  readonly clock: Clock;
  readonly onBadMember: (setId: string, member: string) => void;
  /** There is something to apply for neighbours of this host in so long. */
  readonly wakeIn: (delayMs: number) => void;
}

export function createHostState(config: DataplaneConfig, interfaces: Interfaces, hooks: HostStateHooks): HostState {
  const { onBadMember } = hooks;
  const endpoints = new WorkloadEndpoints();
  const migrations = new LiveMigrations(config, endpoints, interfaces);
  const ruleset = new RulesetManagers({ config, endpoints, interfaces, onBadMember });
  const routes = new RoutesManager(config, endpoints, interfaces, ruleset.tables, migrations);
  const sysctls = new InterfaceSysctls(config, endpoints, interfaces);
  const { hostEndpoints } = ruleset;
  const ipip = new IpipDevice(config, interfaces);
  const peerAddresses = new BgpPeerAddresses(config, endpoints, interfaces);
  peerAddresses.onAddressGone.add((name) => routes.touchInterface(name));
  const mtuFile = new MtuFile(config, interfaces);
  const { tables } = ruleset;
  const wireguard = [...tables.keys()].map((family) => new WireguardDeviceManager(family, config, interfaces));
  const offload = new FlowtableDevices({ config, tables, endpoints, interfaces, hostEndpoints });
  const reachability = new LocalReachability({ config, endpoints, migrations, interfaces, ...hooks });
  const statuses = new EndpointStatuses({ endpoints, hostEndpoints, interfaces, sysctls });
  const prefix = config.endpointStatusPrefix;
  return {
    endpoints,
    ruleset,
    routes,
    devices: [
      migrations,
      ipip,
      new BandwidthManager(endpoints, interfaces, config.interfacePrefixes),
      ...wireguard,
      offload,
      // Once rules and routes are there: what is announced is sent for.
      reachability,
    ],
    peerAddresses,
    offload,
    sysctls,
    hostSysctls: new HostSysctls(config),
    statuses,
    touchInterface(name: string): void {
      routes.touchInterface(name);
      reachability.touchInterface(name);
    },
    messages: () => [
      ...statuses.changes(),
      ...wireguard.flatMap((device) => device.takeMessages()),
      ...migrations.takeArrivals(),
    ],
    statusFiles: prefix === "" ? undefined : new StatusFiles(prefix),
    mtuFile,
    onUpdate(message: ToDataplane): void {
      endpoints.onUpdate(message);
      ruleset.onUpdate(message);
      routes.onUpdate(message);
      ipip.onUpdate(message);
      peerAddresses.onUpdate(message);
      for (const device of wireguard) device.onUpdate(message);
      reachability.onUpdate(message);
      mtuFile.onUpdate(message);
    },
    completeDeferredWork(): void {
      ruleset.completeDeferredWork();
      routes.completeDeferredWork();
    },
  };
}
