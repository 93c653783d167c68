import type { Flow } from "@bulrush/netlink";
import type { FlowAccess } from "../kernel/kernel.ts";
import type { FakeRoutes } from "./fake-routes.ts";

/** Records whose flows were deleted, and which routes there were at that moment. */
export class FakeFlows implements FlowAccess {
  /** What is tracked, for `deleteFlowsWhere`. */
  tracked: Flow[] = [];
  /** How often the flows were listed. */
  listed = 0;
  readonly deleted: string[] = [];
  /** The listing of routes at each deletion. */
  readonly routesThen: (readonly string[])[] = [];
  /** Deletions of this address fail; "*": those by `deleteFlowsWhere`. */
  failing: string | undefined;
  readonly #routes: FakeRoutes;

  constructor(routes: FakeRoutes) {
    this.#routes = routes;
  }

  deleteFlowsOf(addresses: readonly string[]): void {
    if (this.failing !== undefined && addresses.includes(this.failing)) throw new Error("EBUSY");
    this.deleted.push(...addresses);
    this.routesThen.push(this.#routes.listing());
  }

  deleteFlowsWhere(matches: (flow: Flow) => boolean): number {
    this.listed++;
    if (this.failing === "*") throw new Error("EBUSY");
    const before = this.tracked.length;
    this.tracked = this.tracked.filter((flow) => !matches(flow));
    return before - this.tracked.length;
  }
}
