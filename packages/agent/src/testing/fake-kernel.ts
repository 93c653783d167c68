import { createDataplane } from "@bulrush/dataplane";
import { FakeNft } from "@bulrush/nftables";
import type { StartDataplane } from "./agent-rig.ts";

/** A kernel without interfaces, whose nf_tables outlive the dataplanes on it. */
export class FakeKernel {
  readonly nft: FakeNft = new FakeNft();

  readonly start: StartDataplane = (settings, events, clock) =>
    Promise.resolve(
      createDataplane({
        settings,
        kernel: {
          nft: this.nft,
          routes: {
            links: () => [],
            addresses: () => [],
            routes: () => [],
            neighbours: () => [],
            rules: () => [],
            qdiscs: () => [],
            ingressFilters: () => [],
            apply: () => [],
            close: () => {},
          },
          conntrack: { deleteFlowsOf: () => {}, deleteFlowsWhere: () => 0 },
          openAnnouncementWatch: () => ({ heard: () => false, close: () => {} }),
          files: { read: () => undefined, list: () => [], write: () => {}, remove: () => {} },
          sysctls: { read: () => "0", write: () => {} },
          openNftWatch: () => ({ pause: () => {}, resume: () => {}, close: () => Promise.resolve() }),
          openLogMonitor: () => ({ close: () => Promise.resolve() }),
          openMonitor: () => ({ close: () => Promise.resolve() }),
          close: () => {},
        },
        clock,
        random: () => 0,
        events,
      }),
    );

  /** The elements of all sets of the IPv4 table, sorted. */
  members(): string[] {
    const table = this.nft.readTable("ip", "calico");
    return [...(table?.sets.values() ?? [])].flatMap((set) => [...set.elements]).toSorted();
  }

  /** Names of the chains of the IPv4 table that hold this text. */
  chains(text: string): string[] {
    const table = this.nft.readTable("ip", "calico");
    return [...(table?.chains.keys() ?? [])].filter((name) => name.includes(text)).toSorted();
  }
}
