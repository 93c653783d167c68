import { messageOf } from "@bulrush/base";
import { tlsFromParameters } from "@bulrush/sync-client";
import type { FromWorker, ToWorker } from "./load-messages.ts";
import type { LoadPlan } from "./load-plan.ts";
import { LoadWorker } from "./load-worker.ts";

/** The process of some of the clients: does what its parent says, and ends with it. */
export function runWorker(): void {
  let worker: Promise<LoadWorker> | undefined;
  const tell = (message: FromWorker): void => void process.send?.(message, undefined, undefined, () => {});
  const start = async (plan: LoadPlan): Promise<LoadWorker> =>
    new LoadWorker(plan, await tlsFromParameters(plan.tls)?.(), Math.random);
  process.on("disconnect", () => process.exit(1));
  // Ctrl-C is for the parent, which asks for the last reports.
  process.on("SIGINT", () => {});
  process.on("message", (message: ToWorker) => {
    if (message.type === "start") {
      worker = start(message.plan);
      worker.catch((error: unknown) => tell({ type: "failed", message: messageOf(error) }));
      return;
    }
    worker?.then(
      async (running) => {
        if (message.type === "report") tell({ type: "report", report: running.report() });
        else if (message.type === "calm") running.calm();
        else {
          await running.stop();
          process.exit(0);
        }
      },
      () => process.exit(1),
    );
  });
}
