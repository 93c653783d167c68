import { compareStrings } from "@bulrush/base";
import type { ClientView } from "@bulrush/typha";

/** Columns by which clients can be ordered. */
export type ClientOrder = "node" | "stream" | "version" | "behind" | "lag" | "connected" | "bytes";

export interface ClientChoice {
  /** Part of a node's name, address or version; case does not matter. */
  readonly search: string;
  /** undefined: every stream. */
  readonly stream: string | undefined;
  readonly order: ClientOrder;
  readonly isDescending: boolean;
}

/** Changes that the client has not reported as in force; those not sent, where it has reported nothing yet. */
export function behindOf({ serverSequence, sentSequence, appliedSequence }: ClientView): number {
  return Math.max(0, serverSequence - (appliedSequence ?? sentSequence));
}

const COMPARE: Readonly<Record<ClientOrder, (a: ClientView, b: ClientView) => number>> = {
  node: (a, b) => compareStrings(a.hostname, b.hostname),
  stream: (a, b) => compareStrings(a.syncer, b.syncer),
  version: (a, b) => compareStrings(a.info, b.info),
  behind: (a, b) => behindOf(a) - behindOf(b),
  lag: (a, b) => a.lagMs - b.lagMs,
  connected: (a, b) => compareStrings(a.connectedAt, b.connectedAt),
  bytes: (a, b) => a.bytesSent - b.bytesSent,
};

/** The clients that are asked for, in the order asked for; equal ones by node and stream. */
export function selectClients(clients: readonly ClientView[], choice: ClientChoice): readonly ClientView[] {
  const { stream, order, isDescending } = choice;
  const search = choice.search.trim().toLowerCase();
  const wanted = clients.filter(
    (client) =>
      (stream === undefined || client.syncer === stream) &&
      (search === "" ||
        [client.hostname, client.peer, client.info].some((text) => text.toLowerCase().includes(search))),
  );
  const sign = isDescending ? -1 : 1;
  return wanted.sort((a, b) => sign * COMPARE[order](a, b) || COMPARE.node(a, b) || COMPARE.stream(a, b));
}
