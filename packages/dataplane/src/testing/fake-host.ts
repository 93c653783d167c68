import { ManualClock } from "@bulrush/base";
import {
  FakeNft,
  type FakeNftOptions,
  planTable,
  type TableFamily,
  type TableReadback,
  Transaction,
} from "@bulrush/nftables";
import { FakeWireguard } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import type { FlowBatch } from "../flow-log/flow-record.ts";
import type { DataplaneHandle, InspectableDataplane } from "../handle.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { createDataplane } from "../loop/dataplane.ts";
import { renderRuleset } from "../render/render-ruleset.ts";
import type { DataplaneStatus, FromDataplane } from "../status.ts";
import { FakeFiles } from "./fake-files.ts";
import { FakeFlows } from "./fake-flows.ts";
import { FakeNeighbours } from "./fake-neighbours.ts";
import { FakeRoutes } from "./fake-routes.ts";
import { FakeSysctls } from "./fake-sysctls.ts";

/** One host of fakes: a kernel that outlives dataplanes, a clock that stands still, and what a dataplane told. */
export class FakeHost {
  readonly nft: FakeNft;
  readonly routes: FakeRoutes = new FakeRoutes();
  readonly flows: FakeFlows = new FakeFlows(this.routes);
  readonly sysctls: FakeSysctls = new FakeSysctls();
  /** Settings of interfaces: "wireguard.cali/threaded". */
  readonly virtualDevices: FakeSysctls = new FakeSysctls();
  readonly files: FakeFiles = new FakeFiles();
  /** Devices behind which a machine has said that it is here. */
  readonly announced: Set<number> = new Set();
  readonly wireguard: FakeWireguard = new FakeWireguard((name) => {
    const link = this.routes.link(name);
    return link?.kind === "wireguard" ? link : undefined;
  });
  /** How many private keys were made. Each is 32 equal bytes: 0x40, 0x48, ... */
  #keys = 0;
  readonly clock: ManualClock = new ManualClock();
  readonly applied: number[] = [];
  readonly messages: FromDataplane[] = [];
  readonly logs: string[] = [];
  readonly fatal: Error[] = [];
  /** What was asked of the watch, in order. */
  readonly watching: ("pause" | "resume")[] = [];
  /** Who has the packet log; to be set for another program. */
  logMonitor: Parameters<Kernel["openLogMonitor"]>[0] | undefined;
  readonly flowBatches: FlowBatch[] = [];
  readonly neighbours: FakeNeighbours = new FakeNeighbours();
  /** Nobody may listen to announcements, as without NET_RAW. */
  isDeaf = false;
  /** The next dataplane cannot listen to changes of nf_tables. */
  refusesWatch = false;
  status: DataplaneStatus | undefined;
  #watch: Parameters<Kernel["openNftWatch"]>[0] | undefined;

  constructor(options: FakeNftOptions = {}) {
    this.nft = new FakeNft(options);
  }

  /** A dataplane on this host. Jitter is at its least. */
  start(settings: Readonly<Record<string, string>> = {}): InspectableDataplane {
    const { flows, nft, routes, sysctls } = this;
    const kernel: Kernel = {
      nft,
      routes,
      conntrack: flows,
      sysctls,
      virtualDevices: this.virtualDevices,
      files: this.files,
      wireguard: {
        open: () => (routes.missingKinds.has("wireguard") ? undefined : this.wireguard),
        newKey: () => Buffer.alloc(32, 0x40 + 8 * (this.#keys++ % 8)).toString("base64"),
      },
      openAnnouncementWatch: (device) => {
        if (this.isDeaf) throw new Error("Operation not permitted");
        return { heard: () => this.announced.delete(device), close: () => undefined };
      },
      openNeighbourResponder: (options) => this.neighbours.open(options),
      openMonitor: (callbacks) => routes.openMonitor(callbacks),
      openNftWatch: (callbacks) => {
        if (this.refusesWatch) throw new Error("no listener");
        this.#watch = callbacks;
        const pause = (): void => void this.watching.push("pause");
        const resume = (): void => void this.watching.push("resume");
        return { pause, resume, close: () => Promise.resolve() };
      },
      openLogMonitor: (options) => {
        if (this.logMonitor !== undefined) throw new Error("taken");
        this.logMonitor = options;
        return {
          close: () => {
            this.logMonitor = undefined;
            return Promise.resolve();
          },
        };
      },
      close: () => undefined,
    };
    return createDataplane({
      settings: new Map(Object.entries(settings)),
      kernel,
      clock: this.clock,
      random: () => 0,
      events: {
        onStatus: (status) => {
          this.status = status;
        },
        onApplied: (sequence) => this.applied.push(sequence),
        onMessage: (message) => this.messages.push(message),
        onLog: (level, message) => this.logs.push(`${level} ${message}`),
        onFlows: (batch) => this.flowBatches.push(batch),
        onFatal: (error) => this.fatal.push(error),
      },
    });
  }

  /** Changes the ruleset as another program would, and lets the kernel tell of it. */
  async editLoudly(
    change: (transaction: Transaction) => void,
    tables: readonly string[] = ["ip calico"],
  ): Promise<void> {
    this.nft.edit(change);
    this.#watch?.onChange({ tables: new Set(tables), by: "nft (1234)" });
    await this.settle();
  }

  /** The kernel has lost notices of changes. */
  async loseNotices(): Promise<void> {
    this.#watch?.onLost();
    await this.settle();
  }

  /** Sends, and lets the loop run without moving time. */
  async send(dataplane: DataplaneHandle, ...messages: readonly ToDataplane[]): Promise<void> {
    await dataplane.send(messages);
    await this.settle();
  }

  /** Lets everything run that needs no time. */
  async settle(): Promise<void> {
    for (let i = 0; i < 5; i++) await this.clock.advance(0);
  }

  /** Moves time, and lets the loop run at each step of 50 ms. */
  async advance(spanMs: number): Promise<void> {
    for (let left = spanMs; left > 0; left -= 50) {
      await this.clock.advance(Math.min(50, left));
      await this.settle();
    }
  }

  table(family: TableFamily = "ip"): TableReadback | undefined {
    const reads = this.nft.reads;
    const table = this.nft.readTable(family, family === "arp" ? "calico-arp" : "calico");
    this.nft.reads = reads;
    return table;
  }

  /** What would have to be written to make the kernel's tables those of `renderRuleset` on these messages: "" is right. */
  missing(messages: readonly ToDataplane[], settings: Readonly<Record<string, string>> = {}): string {
    const transaction = new Transaction();
    for (const table of renderRuleset(messages, new Map(Object.entries(settings))))
      planTable(table, this.table(table.family), transaction);
    return transaction.operations.map(({ kind }) => kind).join(" ");
  }
}
