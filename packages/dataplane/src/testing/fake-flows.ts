import type { FlowAccess } from "../kernel/kernel.ts";
import type { FakeRoutes } from "./fake-routes.ts";

/** Records whose flows were deleted, and which routes there were at that moment. */
export class FakeFlows implements FlowAccess {
  readonly deleted: string[] = [];
  /** The listing of routes at each deletion. */
  readonly routesThen: (readonly string[])[] = [];
  /** Deletions of this address fail. */
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
}
