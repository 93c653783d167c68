import type { InterfaceAddress } from "./address.ts";
import type { LinkChange, PlainLink, VethPair } from "./link.ts";
import type { Neighbour } from "./neighbour.ts";
import type { QdiscSpec, Redirect } from "../tc/qdisc.ts";
import type { Route } from "./route.ts";
import type { RoutingRule } from "./rule.ts";
import type { VxlanLink } from "./vxlan.ts";

/** One write, as data. `add` fails with EEXIST where the object is there already; `replace` does not. */
export type RouteOperation =
  | { readonly kind: "add-veth"; readonly veth: VethPair }
  | { readonly kind: "add-link"; readonly plain: PlainLink }
  | { readonly kind: "add-vxlan"; readonly vxlan: VxlanLink }
  | { readonly kind: "change-link"; readonly link: number | string; readonly change: LinkChange }
  | { readonly kind: "delete-link"; readonly link: number | string }
  | { readonly kind: "add-address" | "replace-address" | "delete-address"; readonly address: InterfaceAddress }
  /** A delete takes the fields that are given as conditions: no protocol means any. */
  | { readonly kind: "add-route" | "replace-route" | "delete-route"; readonly route: Route }
  | { readonly kind: "add-neighbour" | "replace-neighbour" | "delete-neighbour"; readonly neighbour: Neighbour }
  /** A replace keeps what waits in a token bucket of the device, and puts one in the place of any other kind. */
  | { readonly kind: "replace-qdisc"; readonly qdisc: QdiscSpec }
  /** What hangs on it (filters) goes along. Refused (ENOENT, EINVAL) where another kind, or none, is in its place. */
  | { readonly kind: "delete-qdisc"; readonly qdisc: Pick<QdiscSpec, "device" | "kind"> }
  | { readonly kind: "add-redirect"; readonly redirect: Redirect }
  /** An add of a rule that is there fails with EEXIST; a delete takes one rule that is exactly so. */
  | { readonly kind: "add-rule" | "delete-rule"; readonly rule: RoutingRule };
