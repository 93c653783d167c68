import type { Family } from "../render/statements.ts";
import { DesiredTable } from "./desired-table.ts";

/** The tables of one dataplane by family; `ip6` is missing where IPv6 is off. */
export type DesiredTables = ReadonlyMap<Family, DesiredTable>;

/** The table that is ours in each family. Foreign tables are never touched. */
const TABLE_NAME = "calico";

export function createDesiredTables(ipv6Support: boolean): DesiredTables {
  const tables = new Map<Family, DesiredTable>([[4, new DesiredTable("ip", TABLE_NAME)]]);
  if (ipv6Support) tables.set(6, new DesiredTable("ip6", TABLE_NAME));
  return tables;
}
