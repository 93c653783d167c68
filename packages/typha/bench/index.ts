export { benchConnections } from "./connections.ts";
export { benchFanOut } from "./fan-out.ts";
export { benchMemory } from "./memory.ts";
export { benchPropagation } from "./propagation.ts";
export type { BenchRow } from "./row.ts";
export { benchSnapshot } from "./snapshot.ts";
