import { messageOf } from "@bulrush/base";
import {
  hasErrno,
  isNotFound,
  type Link,
  type Route,
  type RouteOperation,
  type WireguardChange,
  type WireguardConnection,
} from "@bulrush/netlink";
import type { ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { type DeviceResult, type DeviceWork, NO_DEVICE_WORK } from "../device/device-work.ts";
import type { DriftItem } from "../drift/drift-report.ts";
import type { Kernel, RouteAccess, WireguardAccess } from "../kernel/kernel.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import type { Family } from "../render/statements.ts";
import type { WireguardStatusUpdate } from "../status.ts";
import { hostMtu, tunnelMtu } from "../tunnel/host-mtu.ts";
import {
  hasPrivateKey,
  isOwnRoute,
  isSameRule,
  ownRule,
  planAddresses,
  planDevice,
  planLeftovers,
  planLink,
  planRoutes,
  planRules,
  type WireguardSettings,
} from "./plan-wireguard.ts";
import { planThreading, type ThreadingPlan } from "./threading.ts";
import { wireguardDrift } from "./wireguard-drift.ts";
import { WireguardHosts } from "./wireguard-hosts.ts";

/** The device is looked at this often, and so soon after a failure. */
const CHECK_MS = 10_000;
const RETRY_MS = 1000;

/** The kernel has no such device. */
const NOT_THERE = ["EOPNOTSUPP", "ENOENT"] as const;

/** The check of a packet's source looks at its mark too. */
const SRC_VALID_MARK = "net/ipv4/conf/all/src_valid_mark";

/**
 * The WireGuard device of one family, its peers, routing table and rule.
 *
 *     off ──> a device of ours that is there goes: rule, table, device; the datastore is told that there is no key
 *     on  ──> device made, MTU, up ──> key made where it has none, port, mark, peers ──> its one address
 *               ──> with a first peer: threads of its own, or none
 *               ──> table: encrypted hosts by the device, all others thrown back to the main table
 *               ──> rule, last: packets that are not WireGuard's own ask the table
 *
 * The private key lives in the kernel's device and nowhere else: a device that is made anew has a new one. Packets go
 * encrypted once the datastore has told our key to the others. It is looked at every 10 s; off, until nothing of it was
 * found. At the start goes what earlier settings left: a table of another number, a device of another name.
 */
export class WireguardDeviceManager implements DeviceWork {
  readonly #family: Family;
  readonly #config: DataplaneConfig;
  readonly #interfaces: Interfaces;
  readonly #hosts: WireguardHosts;
  /** The endpoint last written, by public key. */
  readonly #endpoints = new Map<string, string>();
  #connection: WireguardConnection | undefined;
  #isDirty = true;
  /** To be looked at, though nothing else is wanted: what is found then is somebody else's doing. */
  #isDue = false;
  #isInSync = false;
  #nextCheckMs = 0;
  #isMissing = false;
  /** Why it has no threads of its own, as last told; "" for no reason. */
  #unthreaded = "";
  /** What earlier settings left is gone. */
  #isCleared = false;
  /** Off, and nothing of ours was found: nobody but us makes it. */
  #isClean = false;
  /** This host's public key; "" for none. Undefined: not known yet. */
  #publicKey: string | undefined;
  /** What was last told, and what the datastore had then. */
  #told = "";
  #messages: WireguardStatusUpdate[] = [];

  constructor(family: Family, config: DataplaneConfig, interfaces: Interfaces) {
    this.#family = family;
    this.#config = config;
    this.#interfaces = interfaces;
    this.#hosts = new WireguardHosts({
      family,
      hostname: config.hostname,
      port: config.wireguardPort[family],
      encryptsHosts: config.wireguardHostEncryption,
    });
    interfaces.onChange.add((name) => {
      if (name === this.#name) this.#isDue = true;
      else if (config.mtuInterfacePattern.test(name)) this.#isDirty = true;
    });
  }

  get #name(): string {
    return this.#config.wireguardDevice[this.#family];
  }

  get #isOn(): boolean {
    return this.#config.wireguard[this.#family] && this.#config.hostname !== "";
  }

  onUpdate(message: ToDataplane): void {
    if (message.msg === "InSync") this.#isInSync = true;
    // Off, nothing counts but what the datastore has of our own key.
    if (this.#isOn || ("hostname" in message && message.hostname === this.#config.hostname))
      this.#hosts.onUpdate(message);
  }

  queueResync(): void {
    this.#isDue = true;
  }

  stop(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  /** News for the datastore, once. */
  takeMessages(): readonly WireguardStatusUpdate[] {
    const messages = this.#messages;
    this.#messages = [];
    return messages;
  }

  apply(access: RouteAccess, nowMs: number, kernel: Kernel): DeviceResult {
    if (this.#config.routeSyncDisabled || !this.#isInSync) return NO_DEVICE_WORK;
    const again = (): Pick<DeviceResult, "againAtMs"> => (this.#isOn ? { againAtMs: this.#nextCheckMs } : {});
    const wasAsked = this.#hosts.takeStale() || this.#isDirty;
    const isDue = this.#isDue || (this.#isOn && nowMs >= this.#nextCheckMs);
    if (!wasAsked && !isDue) return { ...NO_DEVICE_WORK, ...again() };
    this.#isDue = false;
    if (this.#isClean) {
      this.#isDirty = false;
      this.#tell();
      return NO_DEVICE_WORK;
    }
    const round: Round = {
      access,
      kernel,
      writes: 0,
      operations: [],
      changes: [],
      failures: [],
      warnings: [],
      isThreadingChanged: false,
      isMissing: false,
    };
    try {
      this.#clearLeftovers(round);
      if (this.#isOn) this.#bringUp(round);
      else this.#takeDown(round);
    } catch (error) {
      round.failures.push(`Set up ${this.#name}: ${messageOf(error)}`);
    }
    const { failures, isMissing, writes } = round;
    this.#isDirty = failures.length > 0;
    this.#isClean = !this.#isOn && failures.length === 0 && writes === 0;
    this.#nextCheckMs = nowMs + (failures.length > 0 ? RETRY_MS : CHECK_MS);
    const { warnings } = round;
    if (isMissing && !this.#isMissing) warnings.push(`This kernel has no WireGuard: ${this.#name} is missing`);
    const isOwnWork = wasAsked || isMissing || this.#isMissing;
    this.#isMissing = isMissing;
    this.#tell();
    const repaired = isOwnWork ? [] : wireguardDrift(this.#name, round);
    return { writes, drift: isOwnWork ? 0 : writes, repaired, failures, warnings, ...again() };
  }

  inspect(access: RouteAccess, { virtualDevices, wireguard }: Kernel): readonly DriftItem[] {
    const isThere = this.#isOn && !this.#config.routeSyncDisabled && !this.#isMissing && this.#publicKey !== undefined;
    if (!isThere) return [];
    const name = this.#name;
    const link = this.#find(access);
    if (link === undefined) return [{ kind: "device", name, what: "missing", detail: "" }];
    const device = this.#open(wireguard)?.device(name);
    if (device === undefined) return [{ kind: "device", name, what: "changed", detail: "of another make" }];
    const family = this.#family;
    const own = this.#ownRule();
    const { table } = own;
    const hasKey = hasPrivateKey(device);
    const plan = this.#hosts.plan(hasKey ? (device.publicKey ?? "") : "");
    const difference = planDevice(device, this.#settings, plan.hosts, this.#endpoints);
    const operations = [
      ...planLink(link, this.#mtu),
      ...planAddresses(link.index, this.#hosts.ownAddress, access.addresses(), family),
      ...planRoutes(table, link.index, plan, access.routes({ family, table }), family),
      ...planRules(own, table, rulesOf(access, family)),
    ];
    const changes = [...(hasKey ? [] : [{ name, privateKey: "" }]), ...(difference === undefined ? [] : [difference])];
    const isThreadingChanged = this.#planThreading(plan.hosts.length > 0, virtualDevices).kind === "write";
    return wireguardDrift(name, { operations, changes, isThreadingChanged });
  }

  #bringUp(round: Round): void {
    const mtu = this.#mtu;
    const link = this.#find(round.access) ?? this.#make(round, mtu);
    const connection = link === undefined ? undefined : this.#open(round.kernel.wireguard);
    if (link === undefined || connection === undefined) {
      round.isMissing = round.failures.length === 0;
      this.#publicKey = "";
      // Whoever thinks that packets come to us encrypted would lose them.
      this.#clearRouting(round);
      return;
    }
    if (link.kind !== "wireguard") throw new Error("There is a device of this name and of another kind");
    write(round, planLink(link, mtu));
    this.#setDevice(round, connection);
    write(round, planAddresses(link.index, this.#hosts.ownAddress, round.access.addresses(), this.#family));
    if (this.#family === 4 && this.#config.wireguardHostEncryption) setSourceCheck(round);
    this.#setRouting(round, link.index);
  }

  get #mtu(): number {
    const { mtuInterfacePattern } = this.#config;
    return tunnelMtu("wireguard", this.#family, this.#config, hostMtu(this.#interfaces, mtuInterfacePattern));
  }

  get #settings(): WireguardSettings {
    return {
      port: this.#config.wireguardPort[this.#family],
      mark: this.#config.wireguardMark,
      keepaliveSeconds: this.#config.wireguardKeepaliveSeconds,
    };
  }

  #find(access: RouteAccess): Link | undefined {
    return access.links().find(({ name }) => name === this.#name);
  }

  /** A new device has none of what was written to the one before. */
  #make(round: Round, mtu: number): Link | undefined {
    this.#endpoints.clear();
    const operation: RouteOperation = {
      kind: "add-link",
      plain: { name: this.#name, kind: "wireguard", mtu, up: true },
    };
    const [failure] = round.access.apply([operation]);
    round.operations.push(operation);
    if (failure === undefined) round.writes++;
    else if (!hasErrno(failure.error, ...NOT_THERE)) throw failure.error;
    return this.#find(round.access);
  }

  #open(wireguard: WireguardAccess | undefined): WireguardConnection | undefined {
    this.#connection ??= wireguard?.open();
    return this.#connection;
  }

  #setDevice(round: Round, connection: WireguardConnection): void {
    let device = connection.device(this.#name);
    if (device === undefined) throw new Error("The device has gone");
    if (!hasPrivateKey(device)) {
      const privateKey = round.kernel.wireguard?.newKey();
      if (privateKey === undefined) throw new Error("There is no key to be had");
      change(round, connection, { name: this.#name, privateKey });
      device = connection.device(this.#name) ?? device;
    }
    this.#publicKey = device.publicKey ?? "";
    const { hosts } = this.#hosts.plan(this.#publicKey);
    const difference = planDevice(device, this.#settings, hosts, this.#endpoints);
    if (difference !== undefined) change(round, connection, difference);
    this.#endpoints.clear();
    for (const { endpoint, publicKey } of hosts) this.#endpoints.set(publicKey, endpoint);
    this.#setThreading(round, hosts.length > 0);
  }

  #planThreading(hasPeers: boolean, settings: Kernel["virtualDevices"]): ThreadingPlan {
    return planThreading(this.#name, this.#config.wireguardThreading, hasPeers, settings);
  }

  /** Packets go without it, too: what stands in its way is told once. */
  #setThreading(round: Round, hasPeers: boolean): void {
    const { virtualDevices } = round.kernel;
    const plan = this.#planThreading(hasPeers, virtualDevices);
    let why = plan.kind === "cannot" ? plan.why : "";
    if (plan.kind === "write")
      try {
        virtualDevices?.write(plan.path, plan.value);
        round.writes++;
        round.isThreadingChanged = true;
      } catch (error) {
        why = messageOf(error);
      }
    if (why !== "" && why !== this.#unthreaded)
      round.warnings.push(`Threads of ${this.#name} stay as they are (WireguardThreadingEnabled): ${why}`);
    this.#unthreaded = why;
  }

  /** Routes, then the rule that leads to them. */
  #setRouting(round: Round, device: number): void {
    const { access } = round;
    const family = this.#family;
    const table = this.#config.wireguardTables[family];
    const plan = this.#hosts.plan(this.#publicKey ?? "");
    const isReady = round.failures.length === 0;
    write(round, planRoutes(table, device, plan, access.routes({ family, table }), family));
    // A route that fails is one host's; without the rule nobody's packets are encrypted.
    if (!isReady) return;
    write(round, planRules(this.#ownRule(), table, rulesOf(access, family)));
  }

  #ownRule(): ReturnType<typeof ownRule> {
    const { wireguardMark, wireguardRulePriority, wireguardTables } = this.#config;
    return ownRule(this.#family, wireguardRulePriority, wireguardTables[this.#family], wireguardMark);
  }

  #takeDown(round: Round): void {
    this.#publicKey = "";
    const link = this.#find(round.access);
    this.#clearRouting(round, link?.kind === "wireguard");
    if (link?.kind === "wireguard") write(round, [{ kind: "delete-link", link: link.index }]);
    this.stop();
  }

  /** Before the device is set up: one of another name has its port. */
  #clearLeftovers(round: Round): void {
    if (this.#isCleared) return;
    const { access } = round;
    const family = this.#family;
    const { ownTable, rules, tables } = planLeftovers(this.#ownRule(), rulesOf(access, family));
    const routesOf = (table: number): Route[] => access.routes({ family, table }).filter(isOwnRoute);
    const routes = tables.flatMap(routesOf);
    const leadTo = new Set(
      [...routes, ...(ownTable === undefined ? [] : routesOf(ownTable))].map(({ device }) => device),
    );
    const names: readonly string[] = Object.values(this.#config.wireguardDevice);
    const devices =
      leadTo.size === 0
        ? []
        : access
            .links()
            .filter(({ index, kind, name }) => kind === "wireguard" && leadTo.has(index) && !names.includes(name));
    write(round, [
      ...rules.map((rule) => ({ kind: "delete-rule", rule }) as const),
      ...routes.map((route) => ({ kind: "delete-route", route }) as const),
      ...devices.map(({ index }) => ({ kind: "delete-link", link: index }) as const),
    ]);
    this.#isCleared = round.failures.length === 0;
  }

  /** Only where our own rule, or our device, says that the table is ours: other programs have tables too. */
  #clearRouting(round: Round, isOurTable = false): void {
    const { access } = round;
    const family = this.#family;
    const own = this.#ownRule();
    const rules = rulesOf(access, family).filter((rule) => isOurs(rule, own));
    if (rules.length === 0 && !isOurTable) return;
    write(
      round,
      rules.map((rule) => ({ kind: "delete-rule", rule })),
    );
    const { table } = own;
    write(
      round,
      access.routes({ family, table }).map((route) => ({ kind: "delete-route", route })),
    );
  }

  /** The datastore is told again only when it, or our key, is another than when it was told last. */
  #tell(): void {
    if (this.#publicKey === undefined) return;
    const { publishedKey } = this.#hosts;
    if (publishedKey === this.#publicKey) {
      this.#told = "";
      return;
    }
    const now = `${this.#publicKey} ${publishedKey}`;
    if (now === this.#told) return;
    this.#told = now;
    this.#messages.push({ msg: "WireguardStatusUpdate", ip_version: this.#family, public_key: this.#publicKey });
  }
}

interface Round {
  readonly access: RouteAccess;
  readonly kernel: Kernel;
  readonly failures: string[];
  readonly warnings: string[];
  /** What was written to put things right. */
  readonly operations: RouteOperation[];
  readonly changes: WireguardChange[];
  /** It had threads of its own, or none, and should not. */
  isThreadingChanged: boolean;
  writes: number;
  isMissing: boolean;
}

/** With WireGuard off, the bit of the mark is not known: every rule of this form that asks our table is ours. */
function isOurs(rule: ReturnType<typeof ownRule>, own: ReturnType<typeof ownRule>): boolean {
  const mark = own.mark?.value === 0 ? rule.mark : own.mark;
  return mark !== undefined && mark.value === mark.mask && isSameRule(rule, { ...own, mark });
}

/** A kernel without IPv6 has no rules of it. */
function rulesOf(access: RouteAccess, family: Family): ReturnType<RouteAccess["rules"]> {
  try {
    return access.rules(family);
  } catch (error) {
    if (hasErrno(error, "EAFNOSUPPORT", "EOPNOTSUPP")) return [];
    throw error;
  }
}

function write(round: Round, operations: readonly RouteOperation[]): void {
  if (operations.length === 0) return;
  round.writes += operations.length;
  round.operations.push(...operations);
  for (const { error, operation } of round.access.apply(operations))
    if (!(operation.kind.startsWith("delete-") && isNotFound(error))) round.failures.push(error.message);
}

function change(round: Round, connection: WireguardConnection, wanted: WireguardChange): void {
  connection.change(wanted);
  round.writes++;
  round.changes.push(wanted);
}

function setSourceCheck({ kernel: { sysctls }, ...round }: Round): void {
  if (sysctls.read(SRC_VALID_MARK) === "1") return;
  try {
    sysctls.write(SRC_VALID_MARK, "1");
  } catch (error) {
    round.failures.push(`Set ${SRC_VALID_MARK}: ${messageOf(error)}`);
  }
}
