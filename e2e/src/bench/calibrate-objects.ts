const RUNS = 5;

/**
 * CPU milliseconds for Map and string work like a calculation graph's: insert, look up, change, drop; the median of
 * five. By it, figures of one machine are scaled to another for work on objects.
 */
export function calibrateObjects(): number {
  const runs: number[] = [];
  for (let i = 0; i < RUNS; i++) {
    const before = process.cpuUsage();
    churn();
    const { user, system } = process.cpuUsage(before);
    runs.push((user + system) / 1000);
  }
  return runs.toSorted((a, b) => a - b)[RUNS >> 1] ?? Number.NaN;
}

function churn(): void {
  const map = new Map<string, { id: number; labels: string[]; refs: number }>();
  for (let i = 0; i < 300_000; i++)
    map.set(`ns-${i % 100}/pod-${i}`, { id: i, labels: [`a=${i % 7}`, `b=${i % 31}`], refs: 0 });
  let hits = 0;
  for (let i = 0; i < 600_000; i++) {
    const entry = map.get(`ns-${i % 100}/pod-${i}`);
    if (entry === undefined) continue;
    entry.refs++;
    hits += entry.labels.length;
  }
  for (let i = 0; i < 300_000; i += 2) map.delete(`ns-${i % 100}/pod-${i}`);
  if (hits !== 600_000 || map.size !== 150_000) throw new Error("The calibration is broken");
}
