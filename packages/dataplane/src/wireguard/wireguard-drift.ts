import type { RouteOperation, WireguardChange } from "@bulrush/netlink";
import { deviceDrift } from "../drift/device-drift.ts";
import type { DriftItem } from "../drift/drift-report.ts";

/** What puts a WireGuard device right, its table and its rule with it. */
export interface WireguardRepair {
  readonly operations: readonly RouteOperation[];
  readonly changes: readonly WireguardChange[];
  readonly isThreadingChanged: boolean;
}

/** What the repair says was other than meant: one item or none. */
export function wireguardDrift(
  name: string,
  { changes, isThreadingChanged, operations }: WireguardRepair,
): DriftItem[] {
  const [item] = deviceDrift(name, operations);
  if (item !== undefined && item.what !== "changed") return [item];
  const details = item === undefined ? [] : [item.detail];
  if (changes.some(({ privateKey }) => privateKey !== undefined)) details.push("no key");
  if (changes.some(({ port }) => port !== undefined)) details.push("port");
  if (changes.some(({ mark }) => mark !== undefined)) details.push("mark");
  const peers = new Set(changes.flatMap((change) => change.peers ?? []).map(({ publicKey }) => publicKey));
  const destinations = new Set(
    operations.flatMap((operation) =>
      operation.kind === "replace-route" || operation.kind === "delete-route" ? [operation.route.destination] : [],
    ),
  );
  if (peers.size > 0) details.push(`${peers.size} of its hosts`);
  if (destinations.size > 0) details.push(`${destinations.size} of its routes`);
  if (operations.some(({ kind }) => kind === "add-rule")) details.push("rule missing");
  if (operations.some(({ kind }) => kind === "delete-rule")) details.push("rule unknown");
  if (isThreadingChanged) details.push("threads");
  return details.length === 0 ? [] : [{ kind: "device", name, what: "changed", detail: details.join(", ") }];
}
