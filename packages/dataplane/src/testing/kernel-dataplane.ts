import assert from "node:assert/strict";
import { systemClock } from "@bulrush/base";
import type { ToDataplane } from "@bulrush/proto";
import type { FlowRecord } from "../flow-log/flow-record.ts";
import type { DataplaneHandle } from "../handle.ts";
import { openHostKernel } from "../kernel/host-kernel.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { createDataplane } from "../loop/dataplane.ts";
import type { DataplaneStatus } from "../status.ts";

/** A dataplane on the kernel of the test's own namespace, in the test's thread. */
export interface KernelDataplane {
  readonly kernel: Kernel;
  /** What the flow log has told. */
  readonly flows: FlowRecord[];
  /** As last told. */
  readonly status: () => DataplaneStatus | undefined;
  /** Sends, and waits until rules and sets of all of it are in the kernel. */
  readonly send: (...messages: readonly ToDataplane[]) => Promise<void>;
  readonly stop: () => Promise<void>;
}

export function startKernelDataplane(settings: Readonly<Record<string, string>> = {}): KernelDataplane {
  const kernel = openHostKernel();
  const flows: FlowRecord[] = [];
  let status: DataplaneStatus | undefined;
  let sequence = 0;
  let onApplied: (sequence: number) => void = () => undefined;
  const dataplane: DataplaneHandle = createDataplane({
    settings: new Map(Object.entries(settings)),
    kernel,
    clock: systemClock({ keepAlive: true }),
    random: Math.random,
    events: {
      onApplied: (done) => onApplied(done),
      onStatus: (next) => {
        status = next;
      },
      onFlows: (batch) => flows.push(...batch.flows),
      onFatal: (error) => assert.fail(error),
    },
  });
  return {
    kernel,
    flows,
    status: () => status,
    async send(...messages) {
      const wanted = ++sequence;
      const applied = new Promise<void>((resolve) => {
        onApplied = (done) => {
          if (done >= wanted) resolve();
        };
      });
      await dataplane.send(messages);
      dataplane.mark(wanted);
      await applied;
    },
    async stop() {
      await dataplane.stop();
      kernel.close();
    },
  };
}

/**
 * Asks every 20 ms, for as long as 2 minutes of such pauses. For what the kernel tells in its own time. A question that
 * throws, as a command does that finds nothing, is answered with no.
 */
export async function until(what: string, isSo: () => boolean): Promise<void> {
  let error: unknown;
  for (let tries = 0; tries < 6000; tries++) {
    try {
      if (isSo()) return;
      error = undefined;
    } catch (failure) {
      error = failure;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(new Error(`It does not come about that ${what}`, { cause: error }));
}
