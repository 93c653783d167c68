import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRouteConnection, type RouteConnection } from "@bulrush/netlink";
import { Interfaces } from "../src/manager/interfaces.ts";
import type { RouteTarget } from "../src/route/route-class.ts";
import { RouteTable } from "../src/route/route-table.ts";
import { type BenchOptions, digits, median, spent } from "./row.ts";
import { runTool } from "./tool.ts";

const LIMIT = 0.7;
const DEVICE = "cali0";
const ROUNDS = 6;

function addressOf(number: number): string {
  return `10.${65 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}/32`;
}

/**
 * Routes of one workload interface added, compared and deleted, against `ip -batch`. It cannot compare: to be sure of
 * routes that may be there it has to replace them all.
 */
export async function routes({ print, quick }: BenchOptions): Promise<void> {
  const count = quick ? 1000 : 10_000;
  const kernel = openRouteConnection();
  const device = makeDevice(kernel);
  const targets = Array.from(
    { length: count },
    (_, i): RouteTarget => ({ destination: addressOf(i), protocol: 3, metric: 1024, type: "unicast", scope: "link" }),
  );
  const own = { added: [] as number[], compared: [] as number[], deleted: [] as number[] };
  const tool = { added: [] as number[], compared: [] as number[], deleted: [] as number[] };
  const folder = mkdtempSync(join(tmpdir(), "bulrush-bench-"));
  const lines = (verb: string): string =>
    targets
      .map(({ destination }) => `route ${verb} ${destination} dev ${DEVICE} scope link proto 3 metric 1024`)
      .join("\n");
  writeFileSync(join(folder, "add"), lines("replace"));
  writeFileSync(join(folder, "delete"), lines("del"));
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const interfaces = new Interfaces();
      interfaces.put(DEVICE, { name: DEVICE, index: device, up: true, mtu: 1500, addresses: new Set() });
      const table = new RouteTable(4, interfaces, {
        interfacePrefixes: ["cali"],
        removeExternalRoutes: true,
        deviceRouteProtocol: 3,
      });
      const apply = (): void => {
        table.release(kernel, 0);
        const { failures } = table.apply(kernel, 0, () => false);
        if (failures.length > 0) throw new Error(failures[0]);
      };
      apply();
      table.setRoutes("local-workload", DEVICE, targets);
      own.added.push((await spent(apply)).cpuMs);
      table.queueResync();
      own.compared.push((await spent(apply)).cpuMs);
      if (kernel.routes({ family: 4, device }).length !== count) throw new Error("Not all routes are there");
      table.setRoutes("local-workload", DEVICE, []);
      own.deleted.push((await spent(apply)).cpuMs);
      tool.added.push(runTool(`ip -batch ${join(folder, "add")}`).cpuMs);
      tool.compared.push(runTool(`ip -batch ${join(folder, "add")}`).cpuMs);
      tool.deleted.push(runTool(`ip -batch ${join(folder, "delete")}`).cpuMs);
    }
  } finally {
    rmSync(folder, { recursive: true });
    kernel.write({ kind: "delete-link", link: DEVICE });
    kernel.close();
  }
  for (const metric of ["added", "compared", "deleted"] as const) {
    // The first round compiles the code.
    const [value, floor] = [median(own[metric].slice(1)), median(tool[metric].slice(1))];
    print({
      bench: "routes",
      case: { routes: count },
      metric,
      value: digits(value),
      unit: "ms CPU",
      floor: digits(floor),
      ratio: digits(value / floor),
      limit: LIMIT,
    });
  }
}

function makeDevice(kernel: RouteConnection): number {
  kernel.write({ kind: "add-veth", veth: { name: DEVICE, up: true, peer: { name: `${DEVICE}p` } } });
  kernel.write({ kind: "change-link", link: `${DEVICE}p`, change: { up: true } });
  const link = kernel.link(DEVICE);
  if (link === undefined) throw new Error(`No device ${DEVICE}`);
  return link.index;
}
