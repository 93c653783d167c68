import { parentPort, workerData } from "node:worker_threads";
import { CodedError, must, seededRandom, systemClock } from "@bulrush/base";
import { collectGarbage } from "@bulrush/base/heap";
import { openHostKernel } from "../kernel/host-kernel.ts";
import { createDataplane } from "../loop/dataplane.ts";
import type { FromWorker, ToWorker, WorkerData } from "./protocol.ts";

/** The worker thread: a dataplane on the kernel of the thread's network namespace, driven by messages of its parent. */

const port = must(parentPort, "the parent of the worker");
const { options } = workerData as WorkerData;
const tell = (message: FromWorker): void => port.postMessage(message);

const kernel = openHostKernel();
const dataplane = createDataplane({
  settings: options.settings,
  kernel,
  clock: systemClock({ keepAlive: true }),
  random: options.seed === undefined ? Math.random : seededRandom(options.seed),
  events: {
    onStatus: (status) => tell({ kind: "status", status }),
    onApplied: (sequence) => tell({ kind: "applied", sequence }),
    onMessage: (message) => {
      tell({ kind: "message", message });
      // What the start left: at rest there is too little garbage for a collection to come by itself.
      if (message.msg === "DataplaneInSync") void collectGarbage();
    },
    onFlows: (batch) => tell({ kind: "flows", batch }),
    onLog: (level, message, fields) => tell({ kind: "log", level, message, fields }),
    onFatal: (error) => {
      tell({ kind: "fatal", message: error.message, code: error instanceof CodedError ? error.code : undefined });
      kernel.close();
      port.close();
    },
  },
});

port.on("message", (message: ToWorker) => {
  switch (message.kind) {
    case "send":
      void dataplane.send(message.messages).then(() => tell({ kind: "taken", batch: message.batch }));
      return;
    case "mark":
      dataplane.mark(message.sequence);
      return;
    case "resync":
      dataplane.resync();
      return;
    case "inspect":
      void dataplane.inspect().then((report) => tell({ kind: "report", question: message.question, report }));
      return;
    case "stop":
      void dataplane.stop().then(() => {
        kernel.close();
        tell({ kind: "stopped" });
        port.close();
      });
  }
});

tell({ kind: "started" });
