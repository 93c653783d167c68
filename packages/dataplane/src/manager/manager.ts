import type { ToDataplane } from "@bulrush/proto";

/**
 * A part of the dataplane that turns messages into desired state. The loop calls `onUpdate` for every message (a manager
 * leaves alone what it does not know) and, before each apply, `completeDeferredWork` of all managers in their order:
 * what several messages touched is worked out once. Neither does I/O or throws for bad input.
 */
export interface Manager {
  onUpdate(message: ToDataplane): void;
  completeDeferredWork(): void;
}
