import { readdirSync, readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import type { Metrics } from "./metrics.ts";

/** Which of the process's own metrics are on the page. */
export interface ProcessMetricsOptions {
  /** The `process_*` metrics, under the names every Prometheus client uses. */
  readonly process: boolean;
  /** The `nodejs_*` metrics of the runtime. */
  readonly runtime: boolean;
}

/**
 * Registers what a process says about itself. Everything is read when the page is made; nothing runs in between (the
 * event-loop monitor of Node costs a timer every 10 ms, so utilisation is given instead).
 */
export function registerProcessMetrics(metrics: Metrics, options: ProcessMetricsOptions): void {
  if (options.process) registerProcess(metrics);
  if (options.runtime) registerRuntime(metrics);
}

function registerProcess(metrics: Metrics): void {
  const read = (name: string, help: string, value: () => number): void => metrics.gaugeFrom({ name, help }, value);
  const startSeconds = (Date.now() - performance.now()) / 1000;
  metrics.counterFrom({ name: "process_cpu_seconds_total", help: "User and system CPU time in seconds" }, () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  read("process_start_time_seconds", "Start of the process, Unix time in seconds", () => startSeconds);
  read("process_resident_memory_bytes", "Resident memory in bytes", () => process.memoryUsage.rss());
  read("process_open_fds", "Open file descriptors", () => attempt(() => readdirSync("/proc/self/fd").length - 1));
  read("process_max_fds", "Most file descriptors that may be open", () =>
    attempt(() => Number(/^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? 0)),
  );
}

function registerRuntime(metrics: Metrics): void {
  const read = (name: string, help: string, value: () => number): void => metrics.gaugeFrom({ name, help }, value);
  read("nodejs_heap_used_bytes", "JavaScript heap in use, in bytes", () => getHeapStatistics().used_heap_size);
  read(
    "nodejs_heap_total_bytes",
    "JavaScript heap taken from the system, in bytes",
    () => getHeapStatistics().total_heap_size,
  );
  read("nodejs_external_memory_bytes", "Buffers outside the heap, in bytes", () => process.memoryUsage().external);
  let last = performance.eventLoopUtilization();
  read("nodejs_eventloop_utilization", "Share of the time since the last scrape that the event loop was busy", () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  });
}

/** /proc may be hidden: then the metric is 0. */
function attempt(read: () => number): number {
  try {
    return read();
  } catch {
    return 0;
  }
}
