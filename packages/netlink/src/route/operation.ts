import type { InterfaceAddress } from "./address.ts";
import type { LinkChange, VethPair } from "./link.ts";
import type { Neighbour } from "./neighbour.ts";
import type { Route } from "./route.ts";
import type { VxlanLink } from "./vxlan.ts";

/** One write, as data. `add` fails with EEXIST where the object is there already; `replace` does not. */
export type RouteOperation =
  | { readonly kind: "add-veth"; readonly veth: VethPair }
  | { readonly kind: "add-vxlan"; readonly vxlan: VxlanLink }
  | { readonly kind: "change-link"; readonly link: number | string; readonly change: LinkChange }
  | { readonly kind: "delete-link"; readonly link: number | string }
  | { readonly kind: "add-address" | "replace-address" | "delete-address"; readonly address: InterfaceAddress }
  /** A delete takes the fields that are given as conditions: no protocol means any. */
  | { readonly kind: "add-route" | "replace-route" | "delete-route"; readonly route: Route }
  | { readonly kind: "add-neighbour" | "replace-neighbour" | "delete-neighbour"; readonly neighbour: Neighbour };
