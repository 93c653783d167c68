import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { memoryLogger } from "../log/memory-logger.ts";
import { type MetricsSettings, startMetrics } from "./start-metrics.ts";

const SETTINGS: MetricsSettings = {
  PrometheusMetricsEnabled: false,
  PrometheusMetricsHost: "127.0.0.1",
  PrometheusMetricsPort: 0,
  PrometheusMetricsCertFile: "",
  PrometheusMetricsKeyFile: "",
  PrometheusMetricsCAFile: "",
  PrometheusMetricsClientAuth: "NoClientCert",
  PrometheusGoMetricsEnabled: true,
  PrometheusProcessMetricsEnabled: true,
};

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function start(change: Partial<MetricsSettings>): ReturnType<typeof startMetrics> & { readonly said: () => string[] } {
  const logger = memoryLogger();
  const started = startMetrics({ ...SETTINGS, ...change }, { clock: new ManualClock(), logger });
  return { ...started, said: () => logger.records.map(({ message }) => message) };
}

test("startMetrics() registers what the settings ask for", async () => {
  const rows: readonly [change: Partial<MetricsSettings>, process: boolean, runtime: boolean][] = [
    [{}, true, true],
    [{ PrometheusGoMetricsEnabled: false }, true, false],
    [{ PrometheusProcessMetricsEnabled: false }, false, true],
  ];
  for (const [change, process, runtime] of rows) {
    const page = await start(change).page.text();
    assert.deepEqual(
      [page.includes("process_cpu_seconds_total"), page.includes("nodejs_heap_used_bytes")],
      [process, runtime],
    );
  }
});

test("startMetrics() serves only where the settings say so, and with TLS where they name a key or a certificate", async () => {
  assert.deepEqual(start({}).said(), []);
  const served = start({ PrometheusMetricsEnabled: true });
  await settled();
  await served.close();
  const tls = start({ PrometheusMetricsEnabled: true, PrometheusMetricsCertFile: "/missing" });
  await settled();
  assert.deepEqual(tls.said(), ["Cannot listen, will try again every second"]);
  await tls.close();
});

test("update() of startMetrics() takes up what is registered and whether it is served", async () => {
  const started = start({ PrometheusGoMetricsEnabled: false });
  started.update({ ...SETTINGS, PrometheusMetricsEnabled: true, PrometheusMetricsCertFile: "/missing" });
  await settled();
  assert.deepEqual(started.said(), ["Cannot listen, will try again every second"]);
  assert.match(await started.page.text(), /nodejs_heap_used_bytes/);
  await started.close();
});
