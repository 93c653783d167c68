import { type Clock, sleep } from "@bulrush/base";
import type { TcpProxy } from "../etcd-driver/tcp-proxy.ts";
import type { ApiProxy } from "../kube/api-proxy.ts";
import type { KubeServer } from "../kube/kube-server.ts";

export interface FaultContext {
  readonly server: KubeServer;
  /** The syncers reach the server through both: `wire`, then `proxy`. */
  readonly wire: TcpProxy;
  readonly proxy: ApiProxy;
  readonly clock: Clock;
  /** Waits until so many more changes were written. */
  readonly changes: (count: number) => Promise<void>;
}

/** What must have happened in a run for its result to mean anything, counted. */
export interface Evidence {
  /** Watches whose connection was cut. */
  cutWatches: number;
  /** The API server ended without a word while watches were open, and came back. */
  restarts: number;
  /** Revisions were compacted away while watches were down, or the server was. */
  compactions: number;
  /** Watches that were told 410. */
  expiredWatches: number;
  /** Lists that were told 410 in their middle. */
  expiredContinuations: number;
  /** Lists that came as streams, and those that the server would not stream. */
  streamedLists: number;
  refusedStreams: number;
  pagedLists: number;
  namespacesGone: number;
}

/** A thing that is done to the way to the server, or to the server. Resolves when it is over and all is well again. */
export interface Fault {
  readonly name: string;
  /** Not in the short form. */
  readonly isLong?: boolean;
  /** Made only once: nothing is as before after it. */
  readonly isLast?: boolean;
  run(context: FaultContext, evidence: Evidence): Promise<void>;
}

const NEVER = new AbortController().signal;
/** For what must follow from a fault. The longest pause of a reader is 10 s. */
const LIMIT_MS = 90_000;
/** A revision that was compacted away has others between it and the newest one. */
const CHANGES_BEFORE_COMPACTION = 10;

/** @throws Error with `what` if it does not come true in time. */
export async function until(clock: Clock, what: string, isTrue: () => boolean): Promise<void> {
  for (const startMs = clock.monotonicMs(); !isTrue(); ) {
    if (clock.monotonicMs() - startMs > LIMIT_MS)
      throw new Error(`After ${LIMIT_MS / 1000} s there is still no ${what}`);
    await sleep(clock, 20, NEVER);
  }
}

/** The API server ends at once, something else happens, and another one takes its place. */
async function replaceServer(context: FaultContext, evidence: Evidence, between: () => Promise<void>): Promise<void> {
  const { server, proxy, clock } = context;
  const before = server.apiserver.pid;
  await until(clock, "open watch", () => proxy.openWatches > 0);
  await server.apiserver.kill();
  await until(clock, "end of the watches of a server that was killed", () => proxy.openWatches === 0);
  await between();
  if (!server.apiserver.isRunning) await server.restart();
  if (server.apiserver.pid !== before && before !== 0) evidence.restarts++;
}

async function compact({ server }: FaultContext, evidence: Evidence): Promise<void> {
  await server.etcd.compact();
  evidence.compactions++;
}

export const FAULTS: readonly Fault[] = [
  {
    name: "watches cut, and what they missed compacted away; again in the middle of the list that follows",
    async run(context, evidence) {
      const { wire, proxy, clock, changes } = context;
      const { expiredWatches, expiredContinuations } = proxy.traffic;
      await until(clock, "open watch", () => proxy.openWatches > 0);
      evidence.cutWatches += proxy.openWatches;
      wire.cut();
      await until(clock, "end of the watches that were cut", () => proxy.openWatches === 0);
      await changes(CHANGES_BEFORE_COMPACTION);
      await compact(context, evidence);
      proxy.beforeNextContinuation(async () => {
        await changes(CHANGES_BEFORE_COMPACTION);
        await compact(context, evidence);
      });
      wire.mend();
      await until(clock, "watch that is told 410", () => proxy.traffic.expiredWatches > expiredWatches);
      await until(
        clock,
        "list that is told 410 in its middle",
        () => proxy.traffic.expiredContinuations > expiredContinuations,
      );
    },
  },
  {
    name: "API server killed",
    run: (context, evidence) => replaceServer(context, evidence, () => Promise.resolve()),
  },
  {
    name: "API server stopped for a while",
    async run({ server, clock }) {
      server.apiserver.pause();
      await sleep(clock, 1000, NEVER);
      server.apiserver.resume();
    },
  },
  {
    name: "etcd compacted",
    run: (context, evidence) => compact(context, evidence),
  },
  {
    name: "watches cut",
    isLong: true,
    async run({ wire, proxy, clock, changes }, evidence) {
      await until(clock, "open watch", () => proxy.openWatches > 0);
      evidence.cutWatches += proxy.openWatches;
      wire.cut();
      await changes(CHANGES_BEFORE_COMPACTION);
      wire.mend();
    },
  },
  {
    name: "connections silent: what is open carries nothing more, and nobody is told",
    isLong: true,
    async run({ wire, proxy, clock, changes }) {
      const { watches } = proxy.traffic;
      await until(clock, "open watch", () => proxy.openWatches > 0);
      wire.silenceOpen();
      await changes(CHANGES_BEFORE_COMPACTION);
      await until(clock, "watch in place of a silent one", () => proxy.traffic.watches > watches);
    },
  },
  {
    name: "etcd killed",
    isLong: true,
    run: ({ server }) => server.etcd.daemon.restart(),
  },
  {
    name: "API server killed, etcd compacted before the next one starts",
    isLong: true,
    run: (context, evidence) => replaceServer(context, evidence, () => compact(context, evidence)),
  },
  {
    name: "API server replaced by one that streams no lists, etcd compacted before it starts",
    isLast: true,
    async run(context, evidence) {
      const { server, proxy, clock } = context;
      const { refusedStreams, lists } = proxy.traffic;
      await replaceServer(context, evidence, async () => {
        await compact(context, evidence);
        await server.restart({ featureGates: { WatchList: false } });
      });
      await until(clock, "list that the server would not stream", () => proxy.traffic.refusedStreams > refusedStreams);
      await until(clock, "list in pages in its place", () => proxy.traffic.lists > lists);
    },
  },
];

/** What a run has not shown, in the words of {@link Evidence}. A run with any of it proves nothing. */
export function missingEvidence(evidence: Evidence): string[] {
  return Object.entries(evidence)
    .filter(([, count]) => !(count > 0))
    .map(([name]) => name);
}
