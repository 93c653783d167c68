import { NETLINK_NETFILTER, openMonitor } from "@bulrush/netlink";
import { ChangeReader } from "./change-reader.ts";
import type { NftChange, NftWatch, NftWatchOptions } from "./nft-watch.ts";

/** NFNLGRP_NFTABLES, enum nfnetlink_groups of linux/netfilter/nfnetlink.h */
const GROUP = 7;

/** Watches nf_tables of a network namespace; see {@link NftWatch}. It holds one thread of libuv's pool while it lives. */
export function openNftWatch(options: NftWatchOptions): NftWatch {
  const reader = new ChangeReader();
  let changes: NftChange[] = [];
  const monitor = openMonitor({
    protocol: NETLINK_NETFILTER,
    groups: 1 << (GROUP - 1),
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
    onDatagram: (datagram) => {
      changes.push(...reader.read(datagram));
    },
    onBurst(lost) {
      const burst = changes;
      changes = [];
      for (const change of burst) if (!monitor.isClosing) options.onChange(change);
      if (!lost) return;
      reader.reset();
      if (!monitor.isClosing) options.onLost();
    },
    onError: options.onError,
  });
  return {
    pause: () => void monitor.setMember(GROUP, false),
    resume: () => void monitor.setMember(GROUP, true),
    close: () => monitor.close(),
  };
}
