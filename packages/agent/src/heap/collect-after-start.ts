import type { CancelTimer, Clock } from "@bulrush/base";
import type { AgentListener } from "../agent.ts";

/** The kernel's and the source's "all is there" often come one after the other: one collection for both. */
const QUIET_MS = 5_000;

/**
 * Has the heap collected once a start is over. A start leaves as much garbage as the cluster is large (each value as it
 * came, what was kept for the first in-sync), and an agent in a quiet cluster allocates too little to be rid of it ever.
 */
export function collectAfterStart(clock: Clock, collect: () => Promise<void>): AgentListener {
  let cancel: CancelTimer = () => undefined;
  const soon = (): void => {
    cancel();
    cancel = clock.after(QUIET_MS, () => void collect());
  };
  return {
    onInSync: soon,
    onDataplane({ msg }) {
      if (msg === "DataplaneInSync") soon();
    },
  };
}
