import type { RouteScope } from "./address.ts";

/** enum rt_scope_t, linux/rtnetlink.h */
const NUMBERS: Readonly<Record<RouteScope, number>> = { universe: 0, site: 200, link: 253, host: 254, nowhere: 255 };

export function scopeNumber(scope: RouteScope): number {
  return NUMBERS[scope];
}

/** A number that has no name reads as "universe": scopes in between are nobody's. */
export function scopeName(scope: number): RouteScope {
  switch (scope) {
    case 200:
      return "site";
    case 253:
      return "link";
    case 254:
      return "host";
    case 255:
      return "nowhere";
    default:
      return "universe";
  }
}
