import type { StatusView } from "@bulrush/typha";
import { inputError } from "../errors.ts";
import type { AdminClient } from "../fleet/admin-client.ts";

/** What the limit is worked out from in a cluster that runs. */
export interface LiveInputs {
  readonly typhas: number;
  readonly nodes: number;
  /** Streams of all Typhas; undefined where one has not said. */
  readonly connections: number | undefined;
  readonly lower: number;
  readonly upper: number;
  readonly syncerTypes: number;
  readonly basis: "formula" | "observed";
}

/** The first Typha's view of the cluster. Throws CTL_INPUT where it has none. */
export async function readLive([admin]: readonly AdminClient[]): Promise<LiveInputs> {
  if (admin === undefined) throw inputError("There is no Typha to ask");
  const { balance, connections } = await admin.get<StatusView>("/api/v1/status");
  if (balance === null)
    throw inputError(`${admin.url} works no limit out: its TYPHA_CONNECTIONREBALANCINGMODE is not kubernetes`);
  const { typhas, nodes, problem, settings, peers } = balance;
  if (typhas === null || nodes === null)
    throw inputError(`${admin.url} cannot count: ${problem ?? "the nodes are not all known yet"}`);
  const others = peers.map(({ streams }) => streams);
  const isKnown = others.every((streams) => streams !== null);
  const all = others.reduce<number>((sum, streams) => sum + (streams ?? 0), connections.streaming);
  return { typhas, nodes, connections: isKnown ? all : undefined, ...settings };
}
