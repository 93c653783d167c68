import { parentPort, workerData } from "node:worker_threads";
import { readManifestFile } from "./read-file.ts";
import type { ReadRequest } from "./read-in-thread.ts";

/** The thread of {@link readInThread}: reads one file, answers with what it holds, and ends. */
const { absolute, file, maxBytes } = workerData as ReadRequest;
parentPort?.postMessage(await readManifestFile(absolute, file, maxBytes));
