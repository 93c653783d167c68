import type { RouteOperation } from "@bulrush/netlink";
import type { DriftItem } from "./drift-report.ts";

/** What the operations that would put a device right say about the difference; nothing where there are none. */
export function deviceDrift(name: string, operations: readonly RouteOperation[]): DriftItem[] {
  const kinds = new Set(operations.map(({ kind }) => kind));
  const isMade = kinds.has("add-vxlan") || kinds.has("add-link");
  const items = operations.flatMap((operation) => neighbourDrift(name, operation));
  const details = [...kinds].flatMap((kind) => DETAILS[kind] ?? []);
  if (isMade && !kinds.has("delete-link")) items.unshift({ kind: "device", name, what: "missing", detail: "" });
  else if (isMade) items.unshift({ kind: "device", name, what: "changed", detail: "of another make" });
  else if (kinds.has("delete-link")) items.unshift({ kind: "device", name, what: "unknown", detail: "" });
  else if (details.length > 0) items.unshift({ kind: "device", name, what: "changed", detail: details.join(", ") });
  return items;
}

/** What of a device that is there is other than meant. */
const DETAILS: Partial<Readonly<Record<RouteOperation["kind"], string>>> = {
  "change-link": "MTU or state",
  "replace-address": "address missing",
  "delete-address": "address unknown",
  "replace-qdisc": "queue missing or changed",
  "delete-qdisc": "queue unknown",
  "add-redirect": "redirection missing",
};

function neighbourDrift(device: string, operation: RouteOperation): DriftItem[] {
  if (operation.kind !== "replace-neighbour" && operation.kind !== "delete-neighbour") return [];
  const { address = "", forwarding, mac = "" } = operation.neighbour;
  return [
    {
      kind: "neighbour",
      name: `${forwarding === true ? mac : address} on ${device}`,
      what: operation.kind === "delete-neighbour" ? "unknown" : "changed",
      detail: operation.kind === "delete-neighbour" ? "" : `${forwarding === true ? address : mac} is meant`,
    },
  ];
}
