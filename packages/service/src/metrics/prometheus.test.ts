import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "./prometheus.ts";
import { registerProcessMetrics } from "./process-metrics.ts";

const samples = (page: string, name: string): string[] =>
  page.split("\n").filter((line) => line.startsWith(name) && !line.startsWith("#"));

test("createMetrics() shows each kind of metric on the page", async () => {
  const metrics = createMetrics();
  const counter = metrics.counter({ name: "c_total", help: "Counts" });
  counter.inc();
  counter.inc(2);
  const gauge = metrics.gauge({ name: "g", help: "Goes" });
  gauge.set(5);
  gauge.add();
  gauge.add(-3);
  metrics.gaugeFrom({ name: "g_read", help: "Read" }, () => 7);
  metrics.counterFrom({ name: "c_read", help: "Read" }, () => 9);
  metrics.summary({ name: "s_seconds", help: "Times" }).observe(2);
  metrics.histogram({ name: "h_seconds", help: "Times", buckets: [1, 3] }).observe(2);
  const page = await metrics.text();
  assert.match(page, /# HELP c_total Counts\n# TYPE c_total counter\n/);
  assert.deepEqual(samples(page, "c_total"), ["c_total 3"]);
  assert.deepEqual(samples(page, "g"), ["g 3", "g_read 7"]);
  assert.deepEqual(samples(page, "c_read"), ["c_read 9"]);
  assert.deepEqual(samples(await metrics.text(), "c_read"), ["c_read 9"]);
  assert.deepEqual(samples(page, "s_seconds"), [
    's_seconds{quantile="0.5"} 2',
    's_seconds{quantile="0.9"} 2',
    's_seconds{quantile="0.99"} 2',
    "s_seconds_sum 2",
    "s_seconds_count 1",
  ]);
  assert.deepEqual(samples(page, "h_seconds_bucket"), [
    'h_seconds_bucket{le="1"} 0',
    'h_seconds_bucket{le="3"} 1',
    'h_seconds_bucket{le="+Inf"} 1',
  ]);
});

test("Family keeps a child per label value, until it is removed", async () => {
  const metrics = createMetrics();
  const family = metrics.gaugeFamily({ name: "f", help: "Family", labels: ["syncer"] });
  const felix = family.with({ syncer: "felix" });
  felix.set(1);
  family.with({ syncer: "felix" }).add();
  family.with({ syncer: "bgp" }).set(9);
  assert.deepEqual(samples(await metrics.text(), "f"), ['f{syncer="felix"} 2', 'f{syncer="bgp"} 9']);
  family.remove({ syncer: "felix" });
  family.remove({ syncer: "never" });
  assert.deepEqual(samples(await metrics.text(), "f"), ['f{syncer="bgp"} 9']);
  family.reset();
  assert.deepEqual(samples(await metrics.text(), "f"), []);
});

test("gaugeFamilyFrom() and counterFamilyFrom() read all children at each page", async () => {
  const metrics = createMetrics();
  const counts = new Map([
    ["a", 1],
    ["b", 2],
  ]);
  const read = () => [...counts].map(([kind, value]) => [{ kind }, value] as const);
  metrics.gaugeFamilyFrom({ name: "gf", help: "x", labels: ["kind"] }, read);
  metrics.counterFamilyFrom({ name: "cf", help: "x", labels: ["kind"] }, read);
  await metrics.text();
  counts.delete("a");
  counts.set("b", 5);
  const page = await metrics.text();
  assert.deepEqual(samples(page, "gf"), ['gf{kind="b"} 5']);
  assert.deepEqual(samples(page, "cf"), ['cf{kind="b"} 5']);
});

test("createMetrics() refuses a name that is made twice", () => {
  const metrics = createMetrics();
  metrics.counter({ name: "twice", help: "x" });
  assert.throws(() => metrics.gauge({ name: "twice", help: "x" }), { name: "AssertionError" });
});

test("registerProcessMetrics() gives what each switch says", async () => {
  const some = createMetrics();
  registerProcessMetrics(some, { process: true, runtime: false });
  const page = await some.text();
  assert.ok(Number(samples(page, "process_resident_memory_bytes")[0]?.split(" ")[1]) > 1e6);
  assert.ok(Number(samples(page, "process_open_fds")[0]?.split(" ")[1]) > 2);
  assert.equal(samples(page, "nodejs_").length, 0);
  const other = createMetrics();
  registerProcessMetrics(other, { process: false, runtime: true });
  assert.match(await other.text(), /nodejs_heap_used_bytes \d/);
  assert.doesNotMatch(await other.text(), /process_/);
});
